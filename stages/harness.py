"""What every stage shares: one-line errors, logging, its metrics file and its MLflow mirror."""

from __future__ import annotations

import argparse
import ctypes
import errno
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from hanyi.artifacts import canonical_json, write_text
from hanyi.errors import EXIT_FAULT, HanyiError
from hanyi.tracking import Tracker, open_tracker
from stages.paths import METRICS

EXIT_SIGNAL = 128  # plus the signal's number, as shells do
FULL = {errno.ENOSPC, errno.EDQUOT}
PR_SET_PDEATHSIG = 1
LAST_SECONDS = 30  # for unwinding after SIGTERM


class Stopped(KeyboardInterrupt):
    """SIGTERM, raised where the stage stands so that it unwinds as after Ctrl-C."""


def run(name: str, main: Callable[[Tracker], Mapping[str, Any]]) -> None:
    """Run a stage: `main` gives the metrics, which become `metrics/NAME.json` and are mirrored.

    A `HanyiError` or a full disk ends as one line on standard error and exit code 2, an
    interruption as one line and 128 plus the signal's number; a bug keeps its traceback.
    """
    logging.basicConfig(format=f"{name}: %(message)s", stream=sys.stderr)
    logging.getLogger("hanyi").setLevel(logging.INFO)  # other libraries only warn
    signal.signal(signal.SIGTERM, _stopped)
    _die_with_parent()
    try:
        # Outside of the tracker for the one fault of its own: MLflow is missing.
        with one_line_errors(name), open_tracker(name) as tracker:
            _run(name, main, tracker)
    except KeyboardInterrupt as stop:
        number = signal.SIGTERM if isinstance(stop, Stopped) else signal.SIGINT
        sys.stderr.write(f"{name}: stopped by {number.name}\n")
        raise SystemExit(EXIT_SIGNAL + number) from None


def device_option(description: str | None, variable: str) -> None:
    """Read the command line of a stage that computes: `--device` sets a variable of the system."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", help="cpu, cuda or cuda:N; picked by itself unless given")
    if chosen := parser.parse_args().device:
        os.environ[variable] = chosen


@contextmanager
def one_line_errors(name: str) -> Iterator[None]:
    """End a script with one line on standard error and exit code 2 for a `HanyiError`."""
    try:
        yield
    except HanyiError as error:
        _fail(name, str(error))


def _run(name: str, main: Callable[[Tracker], Mapping[str, Any]], tracker: Tracker) -> None:
    # The line is written before the tracker closes: nobody waits for the mirror to read an error.
    try:
        metrics = main(tracker)
        write_text(METRICS / f"{name}.json", canonical_json(metrics))
        tracker.stage_metrics(name, metrics)
    except HanyiError as error:
        _fail(name, str(error))
    except OSError as error:
        if error.errno not in FULL:
            raise
        where = error.filename or "disk"
        _fail(name, f"{where}: no space left, expected room for the outputs; free some")


def _fail(name: str, line: str) -> NoReturn:
    sys.stderr.write(f"{name}: error: {line}\n")
    raise SystemExit(EXIT_FAULT)


def _stopped(_number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends it at once
    signal.alarm(LAST_SECONDS)  # Python drops an exception that is raised inside a finalizer
    raise Stopped


def _die_with_parent() -> None:
    # Killing only `dvc` would leave this process, and the next repro would start a second one.
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before the call
        raise SystemExit(EXIT_FAULT)
