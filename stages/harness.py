"""What every stage shares: one-line errors, plain logging, its metrics file and its MLflow mirror."""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from hanyi.artifacts import canonical_json, write_text
from hanyi.errors import HanyiError
from hanyi.tracking import Tracker, open_tracker
from stages.paths import METRICS

log = logging.getLogger("hanyi")

EXIT_FAULT = 2
PR_SET_PDEATHSIG = 1


def run(name: str, main: Callable[[Tracker], Mapping[str, Any]]) -> None:
    """Run a stage: `main` gives the metrics, which are published as `metrics/NAME.json` and mirrored.

    A `HanyiError` or a full disk ends as one line on standard error and exit code 2; a bug keeps its
    traceback.
    """
    logging.basicConfig(format=f"{name}: %(message)s", level=logging.INFO, stream=sys.stderr)
    _die_with_parent()
    try:
        with open_tracker(name) as tracker:
            metrics = main(tracker)
            write_text(METRICS / f"{name}.json", canonical_json(metrics))
            tracker.stage_metrics(name, metrics)
    except HanyiError as error:
        _stop(name, str(error))
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        _stop(name, f"{error.filename or 'disk'}: no space left, expected room for the outputs; free some")


def _stop(name: str, line: str) -> None:
    sys.stderr.write(f"{name}: error: {line}\n")
    raise SystemExit(EXIT_FAULT)


def _die_with_parent() -> None:
    # Killing only `dvc` would leave this process running, and the next repro would start a second one.
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before the call
        raise SystemExit(EXIT_FAULT)
