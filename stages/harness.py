"""What every stage shares: one-line errors, logging, its metrics file and its MLflow mirror."""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any, NoReturn

from hanyi.artifacts import canonical_json, write_text
from hanyi.errors import EXIT_FAULT, HanyiError
from hanyi.tracking import Tracker, open_tracker
from stages.launch import launch, rank, tell
from stages.paths import METRICS

EXIT_SIGNAL = 128  # plus the signal's number, as shells do
FULL = {errno.ENOSPC, errno.EDQUOT}
PR_SET_PDEATHSIG = 1
LAST_SECONDS = 30  # for unwinding after SIGTERM


class Stopped(KeyboardInterrupt):
    """SIGTERM, raised where the stage stands so that it unwinds as after Ctrl-C."""


def run(
    name: str,
    main: Callable[[Tracker], Mapping[str, Any]],
    processes: Callable[[], int] | None = None,
) -> None:
    """Run a stage: `main` gives the metrics, which become `metrics/NAME.json` and are mirrored.

    A stage whose work several processes can share tells how many there are by default; each of them
    runs `main`, and only the first writes metrics and logs more than warnings.

    A `HanyiError` or a full disk ends as one line on standard error and exit code 2, an
    interruption as one line and 128 plus the signal's number; a bug keeps its traceback.
    """
    _die_with_parent()
    if processes is not None:
        with one_line_errors(name):
            launch(name, processes)
        _die_with_parent()  # a worker has another one
    first = rank() == 0
    title = name if first else f"{name} [{rank()}]"
    logging.basicConfig(format=f"{title}: %(message)s", stream=sys.stderr)
    # Other libraries only warn.
    logging.getLogger("hanyi").setLevel(logging.INFO if first else logging.WARNING)
    signal.signal(signal.SIGTERM, _stopped)
    try:
        # Outside of the tracker for the one fault of its own: MLflow is missing.
        with one_line_errors(title), _tracker(name) as tracker:
            _run(title, name, main, tracker)
    except KeyboardInterrupt as stop:
        number = signal.SIGTERM if isinstance(stop, Stopped) else signal.SIGINT
        if first:
            sys.stderr.write(f"{name}: stopped by {number.name}\n")
        raise SystemExit(EXIT_SIGNAL + number) from None


def device_option(description: str | None, variable: str, fresh: str | None = None) -> None:
    """Read the command line of a stage that computes: `--device` sets a variable of the system.

    So does `--fresh`, for a stage that could go on from what it saved before.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", help="cpu, cuda or cuda:N; picked by itself unless given")
    if fresh:
        told = "begin anew: what an interrupted run has saved is left out and removed"
        parser.add_argument("--fresh", action="store_true", help=told)
    chosen = parser.parse_args()
    if chosen.device:
        os.environ[variable] = chosen.device
    if fresh and chosen.fresh:
        os.environ[fresh] = "1"


def write_metrics(name: str, metrics: Mapping[str, Any]) -> None:
    """Publish the metrics of a stage."""
    write_text(METRICS / f"{name}.json", canonical_json(metrics))


@contextmanager
def one_line_errors(name: str) -> Iterator[None]:
    """End a script with one line on standard error and exit code 2 for a `HanyiError`."""
    try:
        yield
    except HanyiError as error:
        _fail(name, error)


def _tracker(name: str) -> AbstractContextManager[Tracker]:
    return open_tracker(name) if rank() == 0 else nullcontext(Tracker())


def _run(
    title: str, name: str, main: Callable[[Tracker], Mapping[str, Any]], tracker: Tracker
) -> None:
    # The line is written before the tracker closes: nobody waits for the mirror to read an error.
    try:
        metrics = main(tracker)
        if rank() == 0:
            write_metrics(name, metrics)
            # As they stand in the file: DVC and MLflow shall agree to the digit.
            tracker.stage_metrics(name, json.loads(canonical_json(metrics)))
    except HanyiError as error:
        _fail(title, error)
    except OSError as error:
        if error.errno not in FULL:
            raise
        where = error.filename or "disk"
        _fail(title, f"{where}: no space left, expected room for the outputs; free some")


def _fail(title: str, error: HanyiError | str) -> NoReturn:
    if not tell(error):
        sys.stderr.write(f"{title}: error: {error}\n")
    raise SystemExit(EXIT_FAULT)


def _stopped(_number: int, _frame: FrameType | None) -> NoReturn:
    _set_death_signal(0)  # a parent that is killed sends one as each of its threads dies
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends it at once
    signal.alarm(LAST_SECONDS)  # Python drops an exception that is raised inside a finalizer
    raise Stopped


def _die_with_parent() -> None:
    # Killing only `dvc` would leave this process, and the next repro would start a second one.
    parent = os.getppid()
    _set_death_signal(signal.SIGTERM)
    if os.getppid() != parent:  # it died before the call
        raise SystemExit(EXIT_FAULT)


def _set_death_signal(number: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
