"""A training that is killed goes on where it stood and ends with the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.conftest import First
from tests.e2e.workspace import Workspace, ran
from tests.kills.__main__ import attempt
from tests.kills.moments import FUNCTIONS, Moment
from tests.kills.workshop import Ended, Workshop
from tests.training import write_params

pytestmark = pytest.mark.slow

SABOTEUR = Path(__file__).with_name("saboteur.py")
STEP = "torch.Tensor.backward"
GOES_ON = "going on from the state after update"
TRAINED = ("models/transformer", "models/checkpoints", "metrics/train")
SAVE = "hanyi.training.state.StateFolder.save"

# One killing after the other in the same training: WHERE it happens, counted in the new process.
KILLINGS = [
    (STEP, "2", "kill-after"),  # before anything was saved
    ("pathlib.Path.replace", "step-", "kill-before"),  # in the midst of the first save
    (SAVE, "1", "kill-after"),  # as soon as it is whole
    (
        "hanyi.model.transformer.Transformer.start",
        "1",
        "kill-before",
    ),  # while it validates
    (
        "pathlib.Path.replace",
        "transformer",
        "kill-before",
    ),  # when the model is about to be published
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


def wait_for(condition: Callable[[], bool], seconds: float = 200.0) -> None:
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
    assert dvc.wait(timeout=200) != 0
    assert not (built.path / "models/transformer").exists()
    done = built.dvc("repro", "--force", "--single-item", "train")
    assert ran(done) == ["train"]
    assert GOES_ON in done.text
    assert built.digests(*TRAINED) == first.copy.digests(*TRAINED)


def test_fresh_under_dvc_begins_anew(first: First, built: Workspace) -> None:
    forget_training(built)
    built.run(sys.executable, SABOTEUR, "train", SAVE, "1", "kill-after", expect=-signal.SIGKILL)
    done = built.dvc("repro", "--force", "--single-item", "train", HANYI_FRESH="1")
    assert "starting anew: the state after update 4, saved 0 minutes ago, is removed" in done.text
    assert GOES_ON not in done.text
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
    wait_for(lambda: not list(built.processes("stages.train")), seconds=60)


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """Give a folder in which `stages.train` can run alone."""
    return Workshop.make(tmp_path)


def test_a_second_trainer_stops_and_the_first_may_be_killed(workshop: Workshop) -> None:
    write_params(workshop.path, max_steps=1_000_000, validate_every=1_000_000, save_every=5)
    first = workshop.start()
    others = []
    try:
        wait_for(lambda: list(workshop.path.glob(".hanyi/train/*/step-*")) != [], seconds=200)
        second = workshop.train()
        assert second.code == 2
        assert second.text.count("train: error: ") == 1
        assert "another process trains this very model" in second.text
        assert "Traceback" not in second.text
        assert first.poll() is None, "the first goes on"
        first.kill()
        first.wait()
        third = workshop.start()
        others.append(third)
        assert third.stderr
        assert any(GOES_ON in line for line in third.stderr)
        third.terminate()
        assert third.wait(timeout=200) == 75
    finally:
        for process in (first, *others):
            process.kill()
            process.communicate()


def test_fresh_flag_says_what_it_leaves_out(workshop: Workshop) -> None:
    moment = Moment("saving", "kill", SAVE, 2, True, 0.0)
    assert workshop.kill(moment).code == -signal.SIGKILL
    saved = max(workshop.path.glob(".hanyi/train/*/step-*")).name.removeprefix("step-")
    done = workshop.kill(replace(moment, signal="term", call=1), "--fresh")
    assert f"starting anew: the state after update {int(saved)}, saved" in done.text
    assert done.begun == "the start"
    assert done.code == 75
    assert len(list(workshop.path.glob(".hanyi/train/*/step-*"))) == 1


@pytest.mark.timeout(900)
def test_trainings_killed_at_random_moments(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.kills", "--kills", "2", "--seed", "3"],
        cwd=root, env={**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 trainings killed, 0 ended otherwise than the unbroken one" in done.stdout
    assert done.stdout.count("| yes |") == 2


class Ends:
    """Stands in for a training whose endings are given."""

    def __init__(self, killed: Ended, last: Ended, published: dict[str, str]) -> None:
        self.killed, self.last, self.published = killed, last, published

    def kill(self, moment: Moment) -> Ended:
        return self.killed

    def train(self) -> Ended:
        return self.last

    def digests(self) -> dict[str, str]:
        return self.published


SEED = 1  # of one SIGKILL during the forward pass
KILLED, WELL = Ended(-9, ""), Ended(0, "going on from the state after update 4")


@pytest.mark.parametrize(
    ("killed", "last", "published", "fault"),
    [
        (KILLED, WELL, {"models/a": "1", "metrics/b": "2"}, ""),
        (KILLED, WELL, {"models/a": "1", "metrics/b": "3"}, "no: metrics/b"),
        (KILLED, WELL, {"models/a": "1"}, "no: metrics/b"),
        (KILLED, WELL, {"models/a": "1", "metrics/b": "2", ".hanyi/x": "4"}, "no: .hanyi/x"),
        (KILLED, Ended(2, "train: error: x"), {}, "resumed run ended with 2: ['train: error: x']"),
        (
            Ended(1, "Traceback\nE: x"),
            WELL,
            {"models/a": "1", "metrics/b": "2"},
            "a traceback: E: x",
        ),
        (Ended(3, ""), WELL, {"models/a": "1", "metrics/b": "2"}, "ended with 3"),
        (Ended(75, ""), WELL, {"models/a": "1", "metrics/b": "2"}, "ended with 75"),
    ],
)
def test_the_program_sees_every_difference(
    killed: Ended, last: Ended, published: dict[str, str], fault: str
) -> None:
    rng = np.random.default_rng(SEED)
    counts = dict.fromkeys(FUNCTIONS, 5)
    expected = {"models/a": "1", "metrics/b": "2"}
    place: Any = Ends(killed, last, published)
    told, found = attempt(place, rng, 1, counts, 1.0, expected)
    assert found == fault
    assert told.startswith("forward: ")
    assert told.endswith("from update 4" if last is WELL else "from the start")
