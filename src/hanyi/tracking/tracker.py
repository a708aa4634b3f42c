"""The stage's end of the mirror: it writes down what happened and waits for nobody meanwhile."""

from __future__ import annotations

import importlib.util
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from hanyi.errors import HanyiError
from hanyi.tracking.address import store_address
from hanyi.tracking.identity import project_root
from hanyi.tracking.journal import KILLED, Journal, is_held, now, tracking_folder
from hanyi.tracking.machine import device_used
from hanyi.tracking.wiring import is_last, read_wiring

log = logging.getLogger("hanyi.tracking")

SWITCH = "HANYI_TRACKING"
LAST_WAIT = 60.0  # seconds that the last stage of a build waits for its row, at most
LOOK_EVERY = 0.05  # seconds
ASK_EVERY = 5.0  # seconds between two looks whether the recorder lives, while a stage waits
RECORDER = "recorder"  # the lock of the one that runs, and its log
TOLD = "told"  # the process of dvc whose user knows that the store fails


class Tracker:
    """Writes what a stage reports into its journal, which a recorder moves into MLflow.

    MLflow takes seconds to import and open, and a server may be slow or dead: one other process
    bears that for all stages (see `recorder`). Without a journal nothing is kept.
    """

    def __init__(self, stage: str = "", journal: Journal | None = None) -> None:
        self._stage = stage
        self._journal = journal
        self._told = False

    def metrics(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log numbers of the running stage, as `<stage>/<name>`; `step` counts updates."""
        numbers = {name: float(value) for name, value in values.items()}
        self._send({"kind": "metrics", "values": numbers, "step": step or 0})
        self._tell_fault()

    def stage_metrics(self, name: str, metrics: Mapping[str, Any]) -> None:
        """Log a stage's nested metrics file: numbers as metrics, strings as tags."""
        self._send({"kind": "stage", "name": name, "values": metrics})

    def artifact(self, path: Path, folder: str = "") -> None:
        """Log a file, below a folder of the run's artifacts that is named after the stage."""
        if self._journal is None or not path.exists():
            return
        try:
            kept = self._journal.keep(path)
        except OSError as error:
            self._give_up(error)
            return
        self._send({"kind": "artifact", "path": kept, "folder": folder or self._stage})

    def text(self, text: str, name: str) -> None:
        """Log a text as the artifact file `name`."""
        self._send({"kind": "text", "text": text, "name": name})

    def tags(self, values: Mapping[str, str]) -> None:
        """Tag the run."""
        self._send({"kind": "tags", "values": dict(values)})

    def close(self, status: str) -> None:
        """End the stage as FINISHED, FAILED or KILLED.

        The last stage of a build and one that failed wait until the row says so; who stops a stage
        wants it gone, and the others have one after them.
        """
        if device := device_used():
            self.tags({f"{self._stage}/device": device})
        self._send({"kind": "end", "status": status})
        if self._journal is None:
            return
        self._journal.close()
        if status == "FAILED" or (status == "FINISHED" and self._is_last()):
            self._wait(self._journal)
        self._tell_fault()

    def _is_last(self) -> bool:
        try:
            return is_last(self._stage, read_wiring(Path()))
        except HanyiError:  # broken meanwhile: dvc will say so
            return False

    def _wait(self, journal: Journal) -> None:
        begun = asked = time.monotonic()
        while not (journal.is_recorded() or journal.fault()):
            moment = time.monotonic()
            if moment - asked > ASK_EVERY:  # somebody may have killed it
                asked = moment
                ensure_recorder(journal.root)
            if moment - begun > LAST_WAIT:
                if _first_to_tell(journal):
                    log.warning(
                        "MLflow is slow: the rest of this run is recorded beside you, "
                        "or by `hanyi publish`"
                    )
                return
            time.sleep(LOOK_EVERY)

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._journal is None:
            return
        try:
            self._journal.append({**message, "time": now()})
        except (OSError, ValueError) as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        log.warning("tracking is off for this stage: %s; `hanyi publish` adds its row", error)
        if self._journal:
            self._journal.close()
        self._journal = None

    def _tell_fault(self) -> None:
        if self._told or self._journal is None or not (reason := self._journal.fault()):
            return
        self._told = True
        if _first_to_tell(self._journal):
            log.warning(
                "MLflow does not take this run: %s; it is kept, `hanyi publish` adds it later",
                reason,
            )


@contextmanager
def open_tracker(stage: str) -> Iterator[Tracker]:
    """Yield the tracker of a stage; an exception marks the run FAILED, an interruption KILLED.

    `HANYI_TRACKING=off` switches it off. Raises `HanyiError` only when MLflow is not installed.
    """
    tracker = _begin(stage)
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


def ensure_recorder(root: Path) -> None:
    """Start a recorder unless one runs; it ends by itself."""
    if recorder_runs(root):
        return
    source = str(Path(__file__).resolve().parents[2])  # in a temporary workspace: its own copy
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    with (tracking_folder(root) / f"{RECORDER}.log").open("ab") as told:
        subprocess.Popen(
            [sys.executable, "-m", "hanyi.tracking.recorder", str(root)],
            cwd=root,  # a temporary workspace may go before the recorder does
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=told,  # not the stage's: who waits for the end of its output would wait on
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # Ctrl-C is for the stage
        )


def recorder_lock(root: Path) -> FileLock:
    """Give the lock that the one recorder of a project holds."""
    return FileLock(tracking_folder(root) / f"{RECORDER}.lock")


def recorder_runs(root: Path) -> bool:
    """Tell whether a recorder is at work."""
    if not tracking_folder(root).is_dir():
        return False
    return is_held(recorder_lock(root))


def _begin(stage: str) -> Tracker:
    if os.environ.get(SWITCH, "").lower() in {"off", "0", "false", "no"}:
        return Tracker()
    if importlib.util.find_spec("mlflow") is None:
        raise HanyiError(
            "mlflow", "no such module", "it beside dvc", f"run `make` or set {SWITCH}=off"
        )
    root = project_root()
    try:
        journal = Journal(root, stage, store_address(root))
        ensure_recorder(root)
    except (OSError, HanyiError) as error:
        log.warning("tracking is off for this stage: %s; `hanyi publish` adds its row", error)
        return Tracker()
    return Tracker(stage, journal)


def _first_to_tell(journal: Journal) -> bool:
    """Tell whether no other stage of this `dvc` has said that the store fails; once is enough."""
    if "DVC_STAGE" not in os.environ:
        return True
    mine, file = str(os.getppid()), journal.folder.parent / TOLD
    try:
        told = file.exists() and file.read_text(encoding="utf-8") == mine
        file.write_text(mine, encoding="utf-8", newline="\n")
    except OSError:
        return True
    return not told


def _status(code: object) -> str:
    if code == os.EX_TEMPFAIL:  # a training that was asked to stop and can go on
        return KILLED
    return "FAILED" if code else "FINISHED"
