"""Experiments that are killed: marked so, nothing lost, and one row when they have gone on."""

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
from tests.e2e.rows import Rows
from tests.e2e.workspace import Workspace

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LONG = ("-S", "train.max_steps=400", "-S", "train.validate_every=200")
GOES_ON = "going on from the state after update"


@pytest.fixture
def workspace(first: First, tmp_path: Path) -> Iterator[Workspace]:
    """Give a built copy in which nothing runs any more when the test ends."""
    made = first.copy.copy(tmp_path / "work")
    yield made
    for trainer in trainers(made):
        os.kill(trainer, signal.SIGKILL)


def states(workspace: Workspace) -> list[Path]:
    return sorted((workspace.path / ".hanyi/train").glob("*/step-*/state.json"))


def trainers(workspace: Workspace) -> list[int]:
    """Give the processes that train, in the workspace or below it."""
    inner = [workspace, *map(Workspace, (workspace.path / ".dvc/tmp/exps").glob("tmp*"))]
    return [process for place in inner for process in place.processes("stages.train")]


def wait_for(condition: Callable[[], object], seconds: float = 200.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_a_killed_experiment_goes_on_in_its_row(workspace: Workspace) -> None:
    """DVC gives another name to the second try, for it has not been told one."""
    dvc = Path(sys.executable).parent / "dvc"
    process = subprocess.Popen(
        [dvc, "exp", "run", *LONG],
        cwd=workspace.path,
        env=workspace.environment(HANYI_TRACKING=None),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: states(workspace))
    process.kill()  # dvc alone; the trainer saves and ends
    process.wait()
    wait_for(lambda: not trainers(workspace))
    assert states(workspace)
    store = Rows.of_project(workspace)
    wait_for(lambda: [row.info.status for row in store.all()] == ["KILLED"], seconds=60)
    (killed,) = store.all()
    again = workspace.tracked("exp", "run", *LONG)
    assert GOES_ON in again.text
    (row,) = store.all()
    assert row.info.run_id == killed.info.run_id
    assert row.info.status == "FINISHED"
    name = row.data.tags["dvc.experiment"]
    assert name == row.info.run_name != killed.data.tags["dvc.experiment"]
    assert name in workspace.dvc("exp", "list").out
    history = store.client.get_metric_history(row.info.run_id, "train/valid_loss")
    assert sorted(point.step for point in history) == [200, 400]


def test_a_killed_queued_experiment_keeps_log_and_state(workspace: Workspace) -> None:
    workspace.dvc("exp", "run", "--queue", *LONG, "--name", "long")
    workspace.start_the_queue(jobs=1)
    wait_for(lambda: states(workspace))
    for trainer in trainers(workspace):
        os.kill(trainer, signal.SIGKILL)
    workspace.wait_for_the_queue()
    assert "Failed" in workspace.dvc("queue", "status").out
    assert "updates at most, on cpu" in workspace.dvc("queue", "logs", "long").out
    assert states(workspace)
    store = Rows.of_project(workspace)
    killed = store.waited("long", lambda row: row.info.status == "KILLED")
    workspace.dvc("queue", "remove", "long")
    workspace.dvc("exp", "run", "--queue", *LONG, "--name", "long")
    workspace.start_the_queue(jobs=1)
    workspace.wait_for_the_queue()
    assert GOES_ON in workspace.dvc("queue", "logs", "long").out
    row = store.of("long")
    assert row.info.run_id == killed.info.run_id
    assert row.info.status == "FINISHED"
    assert states(workspace) == []
