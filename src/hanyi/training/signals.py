"""Stopping on request without losing an update."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_INTERRUPTED = 75
"""Exit code of a stop on request, EX_TEMPFAIL: run it again and it goes on."""


ECHO_SECONDS = 1.0
"""A signal so soon after the first is the same wish: a parent that is killed while several of its
threads run sends one as each of them dies."""


@contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether SIGTERM or Ctrl-C came; a later one kills as usual."""
    asked: float | None = None

    def ask(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        now = time.monotonic()
        if asked is None:
            asked = now
        elif now - asked > ECHO_SECONDS:
            signal.signal(number, before[signal.Signals(number)])
            signal.raise_signal(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: asked is not None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
