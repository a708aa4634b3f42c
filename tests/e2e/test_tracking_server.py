"""Tracking through a real MLflow server on loopback that is slow, dies and comes back."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from hanyi.tracking import tracker
from hanyi.tracking.publish import publish
from tests.e2e.workspace import ROOT

pytestmark = pytest.mark.slow

DELAY = 0.2  # seconds that the slow way adds to each request
STAGE = """\
import logging, sys
from pathlib import Path
logging.basicConfig(format="train: %(message)s")
from hanyi.tracking import open_tracker
with open_tracker("train") as tracker:
    tracker.metrics({"loss": 1.0}, step=1)
    tracker.artifact(Path("params.yaml"))
    print("ready", flush=True)
    sys.stdin.readline()
    for step in range(2, 400):
        tracker.metrics({"loss": 1 / step}, step=step)
    tracker.stage_metrics("train", {"best": {"bleu": 12.5}})
Path("model").write_text("weights")
print("done", flush=True)
"""


class Server:
    """A real `mlflow server` that can be killed and started again at the same address."""

    def __init__(self, home: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._command = [
            *(sys.executable, "-m", "mlflow", "server", "--workers", "1"),
            *("--host", "127.0.0.1", "--port", str(self.port)),
            *("--backend-store-uri", f"sqlite:///{home / 'server.db'}"),
            *("--artifacts-destination", str(home / "artifacts")),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        )
        while not self._answers():
            assert self._process.poll() is None
            time.sleep(0.1)

    def kill(self) -> None:
        """Kill it with its workers."""
        if self._process:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


@contextmanager
def slow_way_to(server: Server) -> Iterator[str]:
    """Give an address from which every request reaches the server late."""

    class Way(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(DELAY)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            onward = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            headers = {key: value for key, value in self.headers.items() if key != "Host"}
            onward.request(self.command, self.path, body, headers)
            answer = onward.getresponse()
            data = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            onward.close()

        do_POST = do_PUT = do_PATCH = do_GET

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    way = ThreadingHTTPServer(("127.0.0.1", 0), Way)
    threading.Thread(target=way.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{way.server_address[1]}"
    way.shutdown()
    way.server_close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    made.start()
    yield made
    made.kill()


def start(project: Path, address: str, experiment: str) -> subprocess.Popen[str]:
    leave = ("HANYI", "MLFLOW", "DVC")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(leave)}
    environment |= {"MLFLOW_TRACKING_URI": address, "PYTHONPATH": str(ROOT / "src")}
    environment |= {"DVC_EXP_NAME": experiment, "DVC_EXP_BASELINE_REV": experiment}
    stage = subprocess.Popen(
        [sys.executable, "-c", STAGE],
        cwd=project,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert stage.stdout is not None
    assert stage.stdout.readline() == "ready\n"
    return stage


def require_whole(server: Server, experiment: str) -> None:
    client = MlflowClient(server.address)
    found = client.search_runs([client.get_experiment_by_name("hanyi").experiment_id])
    (run,) = [run for run in found if run.data.tags["dvc.experiment"] == experiment]
    assert run.info.status == "FINISHED"
    assert run.data.metrics["train/best.bleu"] == 12.5
    curve = client.get_metric_history(run.info.run_id, "train/loss")
    assert sorted((point.step, point.value) for point in curve) == [
        (step, 1 / step) for step in range(1, 400)
    ]
    files = [item.path for item in client.list_artifacts(run.info.run_id, "train")]
    assert files == ["train/params.yaml"]


def test_a_server_that_is_slow_and_dies_loses_nothing(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "params.yaml").write_text("model: {heads: 4}\n")
    with slow_way_to(server) as address:
        stage = start(project, address, "slow")
        out, err = stage.communicate("go\n", timeout=120)
        assert (stage.returncode, out, err) == (0, "done\n", "")
    require_whole(server, "slow")
    before = (project / "model").read_bytes()

    stage = start(project, server.address, "dying")
    deadline = time.monotonic() + 60
    while not began(server, "dying") and time.monotonic() < deadline:
        time.sleep(0.1)
    server.kill()
    out, err = stage.communicate("go\n", timeout=120)
    assert (stage.returncode, out) == (0, "done\n")
    assert (project / "model").read_bytes() == before
    assert "train: MLflow does not take this run: " in err
    assert err.count("\n") == 1
    while tracker.recorder_runs(project):
        time.sleep(0.05)

    server.start()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.address)
    assert list(publish(project)) == ["dying: train, which the store had not taken"]
    require_whole(server, "dying")
    assert list(publish(project)) == []


def began(server: Server, experiment: str) -> bool:
    client = MlflowClient(server.address)
    found = client.search_runs([client.get_experiment_by_name("hanyi").experiment_id])
    return any("train/loss" in run.data.metrics for run in found if run.info.run_name == experiment)
