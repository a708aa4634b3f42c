"""Measure what tracking adds to `dvc repro` on the tiny corpus of the end-to-end tests.

`python -m benchmarks.tracking [--rounds N] [--server]`: in each round all seven stages run once
without tracking and once with it, in turn, in two copies of one workspace. The first round begins
with no database; `--server` puts a real `mlflow server` on loopback between.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.workspace import Workspace

ROUNDS = 5
STARTING = 120  # seconds for a server to start


def main() -> None:
    """Print a line for each round, then the medians."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tracking")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--server", action="store_true", help="through an MLflow server")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        off = Workspace.make(home / "off")
        on = off.copy(home / "on")
        off.dvc("repro")  # what is read for the first time is slow
        with _server(home) if flags.server else _database() as address:
            pairs = [_round(off, on, address) for _ in range(flags.rounds)]
    added = [after - before for before, after in pairs]
    before = statistics.median(pair[0] for pair in pairs)
    print(
        f"median: {before:.1f} s without, {statistics.median(added):+.1f} s with tracking, "
        f"{statistics.median(added) / before:+.1%}"
    )


def _round(off: Workspace, on: Workspace, address: str | None) -> tuple[float, float]:
    before = _timed(off, "off", None)
    after = _timed(on, None, address)
    print(f"{before:6.1f} s without, {after:6.1f} s with, {after - before:+.1f} s", flush=True)
    return before, after


def _timed(workspace: Workspace, tracking: str | None, address: str | None) -> float:
    begun = time.monotonic()
    workspace.dvc("repro", "--force", HANYI_TRACKING=tracking, MLFLOW_TRACKING_URI=address)
    return time.monotonic() - begun


@contextmanager
def _database() -> Iterator[None]:
    yield None


@contextmanager
def _server(home: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    store = f"sqlite:///{home / 'server.db'}"
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", store]
    command += ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--artifacts-destination", str(home / "artifacts")]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address)
        yield address
    finally:
        server.terminate()
        server.wait()


def _wait_for(address: str) -> None:
    deadline = time.monotonic() + STARTING
    while not _answers(address):
        if time.monotonic() > deadline:
            raise TimeoutError(address)
        time.sleep(0.2)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=2):  # noqa: S310
            return True
    except OSError:
        return False


if __name__ == "__main__":
    main()
