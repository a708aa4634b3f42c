"""A training that is killed goes on where it stood and ends with the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import First
from tests.e2e.workspace import Workspace, ran

pytestmark = pytest.mark.slow

SABOTEUR = Path(__file__).with_name("saboteur.py")
STEP = "torch.Tensor.backward"
GOES_ON = "going on from the state after update"
TRAINED = ("models/transformer", "metrics/train")

# One killing after the other in the same training: WHERE it happens, counted in the new process.
KILLINGS = [
    (STEP, "2", "kill-after"),  # before anything was saved
    ("os.replace", "1", "kill-before"),  # in the midst of the first save
    ("os.replace", "2", "kill-after"),  # as soon as it is whole
    (
        "hanyi.model.transformer.Transformer.start",
        "1",
        "kill-before",
    ),  # while it validates
    ("os.replace", "transformer", "kill-before"),  # when the model is about to be published
]


def test_killed_training_ends_with_the_same_bytes(first: First, built: Workspace) -> None:
    expected = first.copy.digests(*TRAINED)
    forget_training(built)
    for function, when, what in KILLINGS:
        done = built.run(
            sys.executable, SABOTEUR, "train", function, when, what, expect=-signal.SIGKILL
        )
        assert "Traceback" not in done.text
    done = built.stage("train")
    assert built.digests(*TRAINED) == expected
    assert built.metrics("train") == first.copy.metrics("train")
    assert built.leftovers() == []
    # It must have gone on, not begun again.
    assert GOES_ON in done.text


def forget_training(workspace: Workspace) -> None:
    """Remove what train has made."""
    for path in workspace.digests(*TRAINED):
        (workspace.path / path).unlink()
    (workspace.path / "metrics/train.json").unlink()


@pytest.fixture
def start(built: Workspace) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Give a starter of `dvc repro` in the background; what is left of it ends with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: str) -> subprocess.Popen[bytes]:
        dvc = Path(sys.executable).parent / "dvc"
        log = (built.path.parent / "dvc.log").open("ab")
        started.append(
            subprocess.Popen(
                [dvc, "repro", *arguments],
                cwd=built.path,
                env=built.environment(),
                stdout=log,
                stderr=log,
            )
        )
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()
    for trainer in built.processes("stages.train"):
        os.kill(trainer, signal.SIGKILL)


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def has_state(workspace: Workspace) -> bool:
    """Tell whether a resumable state was saved."""
    return any(
        path.is_file() for path in (workspace.path / ".hanyi/train").glob("*/step-*/state.json")
    )


def test_repro_after_a_kill_goes_on(
    first: First, built: Workspace, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    forget_training(built)
    dvc = start("--force", "--single-item", "train")
    wait_for(lambda: has_state(built))
    for trainer in built.processes("stages.train"):
        os.kill(trainer, signal.SIGKILL)
    assert dvc.wait(timeout=60) != 0
    assert not (built.path / "models/transformer").exists()
    done = built.dvc("repro", "--force", "--single-item", "train")
    assert ran(done) == ["train"]
    assert GOES_ON in done.text
    assert built.digests(*TRAINED) == first.copy.digests(*TRAINED)


def test_trainer_ends_with_dvc(
    built: Workspace, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    built.edit(**{"train.max_steps": 100_000, "train.patience": 0})
    dvc = start()
    wait_for(lambda: has_state(built))
    assert len(list(built.processes("stages.train"))) == 1
    dvc.kill()
    dvc.wait()
    wait_for(lambda: not list(built.processes("stages.train")), seconds=10)
