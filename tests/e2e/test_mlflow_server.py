"""An experiment whose row goes to a real MLflow server on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import First
from tests.e2e.rows import Rows, experiments, numbers
from tests.e2e.workspace import ran

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start `mlflow server` with a database and artifacts of its own; give its address."""
    home = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--port", str(port)]
    command += ["--backend-store-uri", f"sqlite:///{home}/server.db"]
    command += ["--artifacts-destination", str(home / "files")]
    environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    environment.pop("MLFLOW_TRACKING_URI", None)
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=home, env=environment, stdout=log, stderr=log)
        address = f"http://127.0.0.1:{port}"
        try:
            _wait(address, process, home / "log")
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 120
    while not _healthy(address):
        text = log.read_text(encoding="utf-8")
        assert process.poll() is None, text
        assert time.monotonic() < end, text
        time.sleep(0.2)


def _healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=5):
            return True
    except OSError:
        return False


def test_an_experiment_stands_in_the_server(first: First, server: str, tmp_path: Path) -> None:
    workspace = first.copy.copy(tmp_path / "work")
    change = ("-S", "decode.beam_size=1")
    done = workspace.tracked("exp", "run", *change, "--name", "served", MLFLOW_TRACKING_URI=server)
    assert ran(done) == ["decode", "score"]
    assert "warning" not in done.text
    rows = Rows(server)
    row = rows.of("served")
    assert row.info.status == "FINISHED"
    shown = numbers(experiments(workspace)["served"])
    assert {metric: row.data.metrics.get(metric) for metric in shown} == shown
    assert {"train/curve.csv", "score/report.html"} <= rows.files(row)
    copied = rows.client.download_artifacts(row.info.run_id, "train/curve.csv", str(tmp_path))
    original = workspace.path / "metrics/train/curve.csv"
    assert Path(copied).read_bytes() == original.read_bytes()
    assert not (workspace.path / "mlflow.db").exists(), "the project's own store is left alone"
