"""Stopping on request without losing an update."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_INTERRUPTED = 75
"""Exit code of a stop on request, EX_TEMPFAIL: run it again and it goes on."""


@contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether SIGTERM or Ctrl-C came; the second one kills as usual."""
    asked = False

    def ask(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
