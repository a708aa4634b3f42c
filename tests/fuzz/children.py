"""Each case in a process of its own: a crash, a hang or a full memory ends that one alone."""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.fuzz.cases import Case
from tests.fuzz.check import Finding, try_case

SECONDS = 20
MEMORY = 2 << 30
"""Bytes that a case may take on top of what Python and its libraries have."""


@dataclass(frozen=True)
class Result:
    """What became of a case: its stage, or what was found."""

    stage: str
    rows: int = 0
    kept: int = 0
    finding: str = ""
    seconds: float = 0.0
    peak: int = 0
    """Bytes of memory at most."""


def run_case(case: Case) -> Result:
    """Try a case in a child, within its limits."""
    with tempfile.TemporaryDirectory() as place:
        folder, answer = Path(place, "project"), Path(place, "answer")
        folder.mkdir()
        begun = time.monotonic()
        child = os.fork()
        if not child:
            _be_child(case, folder, answer)
        status, usage = _wait(child, begun + SECONDS)
        seconds = time.monotonic() - begun
        told = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else {}
    if os.WIFSIGNALED(status):
        number = signal.Signals(os.WTERMSIG(status))
        told = {
            "stage": "found",
            "finding": f"{'hang' if number == signal.SIGKILL else 'crash'}: {number.name}",
        }
    elif not told:
        told = {"stage": "found", "finding": f"crash: exit {os.waitstatus_to_exitcode(status)}"}
    return Result(**{**told, "seconds": seconds, "peak": usage.ru_maxrss << 10})


def _wait(child: int, deadline: float) -> tuple[int, resource.struct_rusage]:
    pause = 0.001
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            return status, usage
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            _, status, usage = os.wait4(child, 0)
            return status, usage
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def _be_child(case: Case, folder: Path, answer: Path) -> None:
    """Try the case, write down what came of it, and end without any clean-up."""
    code = 1
    try:
        logging.disable()
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = used * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            told = asdict(try_case(case, folder))
        except Finding as found:
            told = {"stage": "found", "finding": str(found)}
        except BaseException as error:  # noqa: BLE001  (whatever it is, it is what we look for)
            told = {"stage": "found", "finding": _describe(error)}
        answer.write_text(json.dumps(told), encoding="utf-8")
        code = 0
    finally:
        sys.stdout.flush()
        os._exit(code)


def _describe(error: BaseException) -> str:
    """Give a traceback in one line: the error, and where in the library it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "hanyi" in Path(frame.filename).parts] or frames
    last = ours[-1]
    words = " ".join(str(error).split())[:300].encode("ascii", "backslashreplace").decode()
    return f"traceback: {type(error).__name__} in {Path(last.filename).name}:{last.name}: {words}"
