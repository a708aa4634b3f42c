"""The stage's end of the mirror: it hands over what happened and waits for nobody meanwhile."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hanyi.errors import HanyiError

log = logging.getLogger("hanyi.tracking")

SWITCH = "HANYI_TRACKING"
KILLED = "KILLED"
LAST_WAIT = 60.0  # seconds that a stage waits for its recorder at the end, at most


class Tracker:
    """Hands what a stage reports to its recorder, a process of its own (see `recorder`).

    MLflow takes 2.5 s to import and open, and a server may be slow or dead. In another process that
    costs a stage nothing while it works, and cannot stop it. Without a recorder nothing is kept.
    """

    def __init__(self, recorder: subprocess.Popen[str] | None = None) -> None:
        self._recorder = recorder

    def metrics(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log numbers of the running stage, as `<stage>/<name>`; `step` counts updates."""
        numbers = {name: float(value) for name, value in values.items()}
        self._send({"kind": "metrics", "values": numbers, "step": step or 0, "time": _now()})

    def stage_metrics(self, name: str, metrics: Mapping[str, Any]) -> None:
        """Log a stage's nested metrics file: numbers as metrics, strings as tags."""
        self._send({"kind": "stage", "name": name, "values": metrics, "time": _now()})

    def artifact(self, path: Path, folder: str = "") -> None:
        """Log a file that is already published, below `folder` of the run's artifacts."""
        self._send({"kind": "artifact", "path": str(path.absolute()), "folder": folder})

    def text(self, text: str, name: str) -> None:
        """Log a text as the artifact file `name`."""
        self._send({"kind": "text", "text": text, "name": name})

    def tags(self, values: Mapping[str, str]) -> None:
        """Tag the run, for instance with the device."""
        self._send({"kind": "tags", "values": dict(values)})

    def close(self, status: str) -> None:
        """End the stage as FINISHED, FAILED or KILLED; wait for the recorder unless killed."""
        self._send({"kind": "end", "status": status})
        if self._recorder is None or self._recorder.stdin is None:
            return
        with suppress(BrokenPipeError):
            self._recorder.stdin.close()
        if status == KILLED:  # who stops a stage wants it gone; the recorder ends by itself
            return
        try:
            code = self._recorder.wait(timeout=LAST_WAIT)
        except subprocess.TimeoutExpired:
            self._recorder.kill()
            self._recorder.wait()
            log.warning("the tracking server is too slow, this stage's row is incomplete")
            return
        if code:
            log.warning("the recorder ended with code %d, this stage's row is incomplete", code)

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._recorder is None or self._recorder.stdin is None:
            return
        try:
            self._recorder.stdin.write(json.dumps(message) + "\n")
            self._recorder.stdin.flush()
        except (BrokenPipeError, ValueError):
            # It has given up and has said why, or its pipe is closed.
            return


@contextmanager
def open_tracker(stage: str) -> Iterator[Tracker]:
    """Yield the tracker of a stage; an exception marks the run FAILED, an interruption KILLED.

    `HANYI_TRACKING=off` switches it off. Raises `HanyiError` only when MLflow is not installed.
    """
    if os.environ.get(SWITCH, "").lower() in {"off", "0", "false", "no"}:
        yield Tracker()
        return
    if importlib.util.find_spec("mlflow") is None:
        raise HanyiError(
            "mlflow", "no such module", "it beside dvc", f"run `make` or set {SWITCH}=off"
        )
    tracker = Tracker(_start_recorder(stage))
    try:
        yield tracker
    except Exception:
        tracker.close("FAILED")
        raise
    except SystemExit as stop:
        tracker.close(_status(stop.code))
        raise
    except BaseException:
        tracker.close(KILLED)
        raise
    tracker.close("FINISHED")


def _status(code: object) -> str:
    if code == os.EX_TEMPFAIL:  # a training that was asked to stop and can go on
        return KILLED
    return "FAILED" if code else "FINISHED"


def _start_recorder(stage: str) -> subprocess.Popen[str]:
    source = str(Path(__file__).resolve().parents[2])  # in a temporary workspace: its own copy
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "hanyi.tracking.recorder", stage],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        text=True,
        encoding="utf-8",
        start_new_session=True,  # Ctrl-C is for the stage; the recorder ends when its input does
    )


def _now() -> int:
    return int(time.time() * 1000)
