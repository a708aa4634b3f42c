"""The MLflow UI on the project's store: `python -m hanyi.tracking.ui [--port PORT]`."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from hanyi.errors import EXIT_FAULT, HanyiError, ParamsError
from hanyi.tracking.address import is_remote, store_address
from hanyi.tracking.identity import project_root
from hanyi.tracking.recorder import prepare_mlflow

HOST = "127.0.0.1"
PORT = 5000
LOOK = "workflowType=machine_learning"  # else the page begins with traces of chats


def main(arguments: Sequence[str]) -> None:
    """Publish what is missing, say where to look, and become the MLflow UI."""
    parser = argparse.ArgumentParser(
        prog="python -m hanyi.tracking.ui", description="The MLflow UI."
    )
    parser.add_argument("--port", type=int, default=PORT)
    port = parser.parse_args(arguments).port
    root = project_root()
    address = store_address(root)
    if not is_remote(address):
        require_free(port)
    experiment = _publish(root)
    page = f"{address.rstrip('/') if is_remote(address) else f'http://{HOST}:{port}'}/"
    page += f"#/experiments/{experiment}/runs?{LOOK}" if experiment else ""
    if is_remote(address):
        _say(f"the runs are at {page}")
        return
    _say(f"look at {page} in a few seconds; Ctrl-C ends it")
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", address]
    # Job execution off: the page alone is wanted.
    environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    environment.pop("MLFLOW_LOGGING_LEVEL", None)
    options = ["--host", HOST, "--port", str(port), "--workers", "1"]
    options += ["--uvicorn-opts", "--log-level warning"]  # not each request
    os.execve(sys.executable, [*command, *options], environment)  # noqa: S606 - its signals are ours


def require_free(port: int) -> None:
    """Raise `ParamsError` when another program listens on a port."""
    with socket.socket() as probe:
        # A server that has just ended leaves its port waiting, which is no hindrance.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            remedy = f"stop the other program, or choose: make ui PORT={port + 1}"
            found = (error.strerror or str(error)).lower()
            raise ParamsError(f"port {port}", found, "a free one", remedy) from None


def _publish(root: Path) -> str:
    prepare_mlflow()
    from hanyi.tracking.mirror import Store
    from hanyi.tracking.publish import publish

    try:
        for line in publish(root):
            _say(line)
        return Store(root).experiment
    except HanyiError as error:  # what is there can be shown all the same
        _say(f"warning: {error}")
        return ""


def _say(line: str) -> None:
    sys.stderr.write(f"ui: {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except HanyiError as fault:
        _say(f"error: {fault}")
        raise SystemExit(EXIT_FAULT) from None
