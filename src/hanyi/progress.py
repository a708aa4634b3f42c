"""How far a loop is: a bar on a terminal, a log line every few seconds elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

log = logging.getLogger("hanyi.progress")

SECONDS_BETWEEN_LINES = 5.0

Advance = Callable[[int], None]


@contextmanager
def progress(title: str, total: int, unit: str) -> Iterator[Advance]:
    """Yield a function that is told how many units are done since the last call.

    Example: `with progress("decode", len(rows), "rows") as advance: ...; advance(64)`.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _LogLines(title, total, unit).advance
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.advance(task, done)


class _LogLines:
    def __init__(self, title: str, total: int, unit: str) -> None:
        self.title, self.total, self.unit = title, total, unit
        self.done = 0
        self.begun = self.told = time.monotonic()

    def advance(self, done: int) -> None:
        self.done += done
        now = time.monotonic()
        if now - self.told < SECONDS_BETWEEN_LINES or not self.done:
            return
        self.told = now
        left = (now - self.begun) * (self.total - self.done) / self.done
        log.info("%s: %d of %d %s, %.0f s left", self.title, self.done, self.total, self.unit, left)
