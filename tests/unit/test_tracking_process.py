"""Stages and their recorder as processes: what a stage pays, and what may go wrong beside it."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from hanyi.errors import ArtifactError, DataError
from hanyi.tracking import open_tracker, tracker
from hanyi.tracking.address import why
from hanyi.tracking.journal import Reading, find_journals, tracking_folder
from hanyi.tracking.mirror import Store
from hanyi.tracking.publish import publish
from hanyi.tracking.recorder import prepare_mlflow

STAGE = """\
import logging, sys, time
from pathlib import Path
logging.basicConfig(format="train: %(message)s")
from hanyi.tracking import open_tracker
with open_tracker("train") as tracker:
    for step in range(3):
        tracker.metrics({"loss": 1 / (step + 1)}, step=step)
    Path("samples.md").write_text("# samples")
    tracker.artifact(Path("samples.md"))
    Path("samples.md").unlink()
    print("ready", flush=True)
    exec(sys.argv[1])
print("done", flush=True)
"""
OPEN = """\
import sys, time
from pathlib import Path
from hanyi.tracking.mirror import Store
while time.time() < float(sys.argv[1]):
    time.sleep(0.001)
print(Store(Path.cwd()).experiment)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> Iterator[Path]:
    """Stand in a project without dvc; the recorder is gone when it goes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text("model: {heads: 4}\n")
    monkeypatch.setenv("PYTHONPATH", str(root / "src"))
    for name in ("MLFLOW_TRACKING_URI", "DVC_ROOT", "DVC_STAGE", "DVC_EXP_NAME", "HANYI_TRACKING"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    deadline = time.monotonic() + 60
    while tracker.recorder_runs(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store once, which takes seconds."""
    root = tmp_path_factory.mktemp("store")
    Store(root, f"sqlite:///{root / 'mlflow.db'}")
    return root / "mlflow.db"


def start(
    monkeypatch: pytest.MonkeyPatch, experiment: str, code: str = "pass"
) -> subprocess.Popen[str]:
    monkeypatch.setenv("DVC_EXP_NAME", experiment)
    monkeypatch.setenv("DVC_EXP_BASELINE_REV", experiment)  # else one goes on in another's row
    stage = subprocess.Popen(
        [sys.executable, "-c", STAGE, code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert stage.stdout is not None
    assert stage.stdout.readline() == "ready\n"
    return stage


def rows(project: Path) -> dict[str, Run]:
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    found = client.search_runs([client.get_experiment_by_name("hanyi").experiment_id])
    return {run.info.run_name: run for run in found}


def is_whole(project: Path, run: Run) -> bool:
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    losses = client.get_metric_history(run.info.run_id, "train/loss")
    files = [item.path for item in client.list_artifacts(run.info.run_id, "train")]
    values = [(point.step, point.value) for point in losses]
    return values == [(0, 1.0), (1, 0.5), (2, 1 / 3)] and files == ["train/samples.md"]


def test_stages_of_a_fresh_project_at_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = {"one": "pass", "two": "sys.exit(2)", "killed": "time.sleep(60)"}
    stages = {name: start(monkeypatch, name, code) for name, code in codes.items()}
    stages["killed"].send_signal(signal.SIGKILL)  # it cannot say anything any more
    errors = {name: stage.communicate(timeout=120)[1] for name, stage in stages.items()}
    assert errors == {"one": "", "two": "", "killed": ""}
    while tracker.recorder_runs(project):
        time.sleep(0.05)
    found = rows(project)
    states = {name: run.info.status for name, run in found.items()}
    assert states == {"one": "FINISHED", "two": "FAILED", "killed": "KILLED"}
    assert all(is_whole(project, run) for run in found.values())
    assert found["one"].data.tags["machine.host"]
    assert list(find_journals(project)) == []


def test_many_open_a_fresh_database_at_once(project: Path) -> None:
    command = [sys.executable, "-c", OPEN, str(time.time() + 4)]
    openers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    ended = [opener.communicate(timeout=120) for opener in openers]
    assert {opener.returncode for opener in openers} == {0}, ended
    assert len({out for out, _ in ended}) == 1


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, "FINISHED"),
        (DataError("a", "b", "c", "d"), "FAILED"),
        (SystemExit(2), "FAILED"),
        (SystemExit(0), "FINISHED"),
        (SystemExit(75), "KILLED"),
        (KeyboardInterrupt(), "KILLED"),
    ],
)
def test_how_a_stage_ends_is_its_last_word(
    project: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException | None, status: str
) -> None:
    monkeypatch.setattr(tracker, "ensure_recorder", lambda root: None)
    monkeypatch.setattr(tracker, "LAST_WAIT", 0.0)
    with suppress(BaseException), open_tracker("train") as opened:
        opened.text("爱", "samples.md")
        if error:
            raise error
    (journal,) = (Reading(folder) for folder in find_journals(project))
    words = [{key: word[key] for key in word if key != "time"} for word in journal.messages()]
    assert words[0] == {"kind": "text", "text": "爱", "name": "samples.md"}
    assert words[-1] == {"kind": "end", "status": status}


@contextmanager
def in_the_way(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Put a folder where the database would be."""
    (project / "mlflow.db").mkdir()
    yield "unable to open database file"
    (project / "mlflow.db").rmdir()


@contextmanager
def dead(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Name an address at which nobody listens."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    yield "Connection refused"
    monkeypatch.delenv("MLFLOW_TRACKING_URI")


@contextmanager
def mute(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Name a server that takes every connection and never answers."""
    server = socket.create_server(("127.0.0.1", 0))
    kept = []

    def accept() -> None:
        with suppress(OSError):
            while True:
                kept.append(server.accept())

    threading.Thread(target=accept, daemon=True).start()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{server.getsockname()[1]}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    yield "timed out"
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    server.close()


@contextmanager
def full(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Keep the database on a disk that is full."""
    disk = project / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{disk / 'mlflow.db'}")
    yield "disk"
    subprocess.run(["umount", "--lazy", disk], check=True)
    monkeypatch.delenv("MLFLOW_TRACKING_URI")


@pytest.mark.parametrize("trouble", [in_the_way, dead, mute, full])
def test_a_store_that_fails_is_told_once_and_publish_adds_the_row(
    project: Path, monkeypatch: pytest.MonkeyPatch, trouble: Any, database: Path
) -> None:
    with trouble(project, monkeypatch) as reason:
        stage = start(monkeypatch, "kept")
        out, err = stage.communicate(timeout=120)
        assert (stage.returncode, out) == (0, "done\n")
        assert err.startswith("train: MLflow does not take this run: ")
        assert reason in err
        assert err.count("\n") == 1
        while tracker.recorder_runs(project):
            time.sleep(0.05)
    assert len(list(find_journals(project))) == 1
    shutil.copy(database, project / "mlflow.db")
    assert list(publish(project)) == ["kept: train, which the store had not taken"]
    run = rows(project)["kept"]
    assert run.info.status == "FINISHED"
    assert is_whole(project, run)
    assert list(publish(project)) == []


def test_publish_tells_a_store_that_does_not_answer(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "mlflow.db").mkdir()
    with pytest.raises(ArtifactError, match=r"unable to open database file.*publish"):
        list(publish(project))


def test_a_password_of_an_address_is_not_told() -> None:
    address = "postgresql://me:sec@ret@127.0.0.1:9/store"
    told = why(address, ValueError(f"no driver for {address}\nat all"))
    assert told == f"{(mute := 'postgresql://127.0.0.1:9/store')}: no driver for {mute} at all"


def test_publish_says_no_more_of_a_dead_server(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    prepare_mlflow()
    with pytest.raises(ArtifactError, match="Connection refused"):
        list(publish(project))
    assert caplog.text == ""


def test_publish_makes_no_store_outside_of_a_project(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no project"):
        list(publish(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_journal_that_cannot_be_written_is_one_warning(
    project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (project / ".hanyi").write_text("in the way")
    with caplog.at_level(logging.WARNING), open_tracker("train") as opened:
        opened.metrics({"loss": 1.0}, step=1)
    assert [record.name for record in caplog.records] == ["hanyi.tracking"]
    assert "tracking is off for this stage" in caplog.text


def test_a_disk_that_gets_full_is_one_warning(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def copyfile(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tracker, "ensure_recorder", lambda root: None)
    with caplog.at_level(logging.WARNING), open_tracker("train") as opened:
        monkeypatch.setattr(shutil, "copyfile", copyfile)
        for _ in range(3):
            opened.artifact(project / "params.yaml")
    assert len(caplog.records) == 1
    assert "No space left" in caplog.text


def test_a_stage_does_not_wait_for_a_recorder_that_hangs(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tracker, "LAST_WAIT", 0.5)
    monkeypatch.setattr(tracker, "ensure_recorder", lambda root: None)
    started = time.monotonic()
    with caplog.at_level(logging.WARNING), open_tracker("train") as opened:
        opened.metrics({"loss": 1.0}, step=1)
    assert time.monotonic() - started < 10
    assert len(caplog.records) == 1
    assert "slow" in caplog.text


def test_a_recorder_that_was_killed_is_started_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def ensure_recorder(root: Path) -> None:
        started.append(root)
        if len(started) == 2:  # the first one was killed before it did anything
            for folder in find_journals(root):
                Reading(folder).remove()

    monkeypatch.setattr(tracker, "ASK_EVERY", 0.1)
    monkeypatch.setattr(tracker, "ensure_recorder", ensure_recorder)
    with open_tracker("train") as opened:
        opened.metrics({"loss": 1.0}, step=1)
    assert started == [project, project]


def test_a_build_of_dvc_is_told_once(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DVC_STAGE", "train")
    monkeypatch.setattr(tracker, "ensure_recorder", lambda root: None)
    with caplog.at_level(logging.WARNING):
        for stage in ("train", "decode", "score"):
            with open_tracker(stage) as opened:
                for folder in find_journals(project):
                    Reading(folder).fail("no server")
                opened.metrics({"loss": 1.0}, step=1)
    assert [record.message.count("no server") for record in caplog.records] == [1]
    assert len(list(find_journals(project))) == 3
    assert (tracking_folder(project) / "told").read_text() == str(os.getppid())
