"""Stage and recorder as two processes: what a stage pays, and what may go wrong beside it."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from hanyi.errors import DataError
from hanyi.tracking import open_tracker, tracker

STAGE = """\
import sys, time
from hanyi.tracking import open_tracker
with open_tracker("train") as tracker:
    for step in range(3):
        tracker.metrics({"loss": 1 / (step + 1)}, step=step)
    print("ready", flush=True)
    exec(sys.argv[1])
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text("model: {heads: 4}\n")
    monkeypatch.setenv("PYTHONPATH", str(root / "src"))
    for name in ("MLFLOW_TRACKING_URI", "DVC_ROOT", "DVC_EXP_NAME", "HANYI_TRACKING"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def start(monkeypatch: pytest.MonkeyPatch, experiment: str, code: str) -> subprocess.Popen[str]:
    monkeypatch.setenv("DVC_EXP_NAME", experiment)
    stage = subprocess.Popen(
        [sys.executable, "-c", STAGE, code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert stage.stdout is not None
    assert stage.stdout.readline() == "ready\n"
    return stage


def test_two_stages_open_a_fresh_store_at_once(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = {"FINISHED": "pass", "KILLED": "time.sleep(60)"}
    stages = {name: start(monkeypatch, name, code) for name, code in codes.items()}
    stages["KILLED"].send_signal(signal.SIGKILL)  # it cannot say anything any more
    errors = {name: stage.communicate(timeout=120)[1] for name, stage in stages.items()}
    assert errors == {"FINISHED": "", "KILLED": ""}
    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    runs = client.search_runs([client.get_experiment_by_name("hanyi").experiment_id])
    states = {run.info.run_name: run.info.status for run in runs}
    assert states == {"FINISHED": "FINISHED", "KILLED": "KILLED"}
    assert {run.data.metrics["train/loss"] for run in runs} == {1 / 3}


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
    def copy(stage: str) -> subprocess.Popen[str]:
        return subprocess.Popen(["sh", "-c", "cat > words"], stdin=subprocess.PIPE, text=True)

    monkeypatch.setattr(tracker, "_start_recorder", copy)
    recorder = None
    with suppress(BaseException), open_tracker("train") as opened:
        recorder = opened._recorder
        opened.text("爱", "samples.md")
        if error:
            raise error
    assert recorder is not None
    recorder.wait()
    words = [json.loads(line) for line in Path("words").read_text().splitlines()]
    assert words[0] == {"kind": "text", "text": "爱", "name": "samples.md"}
    assert words[1:] == [{"kind": "end", "status": status}]


def test_a_dead_server_is_one_warning_and_nothing_else(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    started = time.monotonic()
    stage = start(monkeypatch, "dead", "time.sleep(1); tracker.metrics({'loss': 0.1}, step=9)")
    _, err = stage.communicate(timeout=60)
    assert time.monotonic() - started < 45  # alone 4 s; the rest is for a busy machine
    assert stage.returncode == 0
    assert err.startswith("train: warning: tracking is off for this stage: ")
    assert err.count("\n") == 1
    assert sorted(path.name for path in project.iterdir()) == [".hanyi", "params.yaml"]


def test_a_stage_does_not_wait_for_a_recorder_that_hangs(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tracker, "LAST_WAIT", 0.5)
    started = time.monotonic()
    with caplog.at_level(logging.WARNING), open_tracker("train") as opened:
        assert opened._recorder is not None
        opened._recorder.send_signal(signal.SIGSTOP)
        opened.metrics({"loss": 1.0}, step=1)
    assert time.monotonic() - started < 10
    assert [record.name for record in caplog.records] == ["hanyi.tracking"]
    assert "too slow" in caplog.text


def test_a_recorder_that_is_gone_harms_nobody(
    project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), open_tracker("train") as opened:
        assert opened._recorder is not None
        opened._recorder.kill()
        opened._recorder.wait()
        for step in range(100):
            opened.metrics({"loss": 1.0}, step=step)
        opened.stage_metrics("train", {"best": 1.0})
    assert len(caplog.records) == 1
