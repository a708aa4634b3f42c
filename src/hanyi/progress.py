"""How far a loop is: a bar on a terminal, a log line every few seconds elsewhere."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

log = logging.getLogger("hanyi.progress")

SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_DRAWINGS = 0.2

Advance = Callable[[int], None]


class Bar:
    """A bar at the foot of a terminal; log lines go above it while it is shown."""

    def __init__(self, title: str, unit: str) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn(f"{unit}{{task.fields[told]}}"),
        )
        # Drawn when there is news, not by a thread: training wants the core for itself.
        console = Console(stderr=True)
        self._progress = Progress(*columns, console=console, transient=True, auto_refresh=False)
        self._task = self._progress.add_task(title, total=None, told="")
        self._drawn = 0.0

    @contextmanager
    def shown(self) -> Iterator[Bar]:
        """Show it, until the loop ends in whatever way."""
        plain = sys.stderr
        with self._progress:  # which puts its own stream, that knows of the bar, in the place of it
            moved = [handler for handler in _handlers() if handler.stream is plain]
            for handler in moved:
                handler.setStream(sys.stderr)
            try:
                yield self
            finally:
                for handler in moved:
                    handler.setStream(plain)

    def show(self, done: int, total: int | None, told: str | None = None) -> None:
        """Take in how much is done, and what else is to be told; draw it if the last is old."""
        self._progress.update(self._task, completed=done, total=total)
        if told is not None:
            self._progress.update(self._task, told=told)
        now = time.monotonic()
        if now - self._drawn >= SECONDS_BETWEEN_DRAWINGS or (total is not None and done >= total):
            self._drawn = now
            self._progress.refresh()


def on_terminal() -> bool:
    """Tell whether a bar can be shown: standard error is a terminal that can move its cursor."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in {"", "dumb", "unknown"}


@contextmanager
def progress(title: str, total: int | None, unit: str) -> Iterator[Advance]:
    """Yield a function that is told how many units are done since the last call.

    The total is None where it is not known.

    Example: `with progress("decode", len(rows), "rows") as advance: ...; advance(64)`.
    """
    if not on_terminal():
        yield _Loop(title, total, unit, None).advance
        return
    with Bar(title, unit).shown() as bar:
        loop = _Loop(title, total, unit, bar)
        bar.show(0, total)
        yield loop.advance


def clock(seconds: float) -> str:
    """Write a duration as minutes and seconds, hours when it is long: 1:05 or 2:00:07."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class _Loop:
    def __init__(self, title: str, total: int | None, unit: str, bar: Bar | None) -> None:
        self.title, self.total, self.unit, self.bar = title, total, unit, bar
        self.done = 0
        self.begun = self.told = time.monotonic()

    def advance(self, done: int) -> None:
        self.done += done
        if not self.done:
            return
        now = time.monotonic()
        left = "" if self.total is None else f", {clock(self._left(now, self.total))} left"
        if self.bar is not None:
            self.bar.show(self.done, self.total, left)
        elif now - self.told >= SECONDS_BETWEEN_LINES:
            self.told = now
            of = "" if self.total is None else f" of {self.total}"
            log.info("%s: %d%s %s%s", self.title, self.done, of, self.unit, left)

    def _left(self, now: float, total: int) -> float:
        return (now - self.begun) * (total - self.done) / self.done


def _handlers() -> list[logging.StreamHandler]:  # type: ignore[type-arg]
    return [one for one in logging.getLogger().handlers if isinstance(one, logging.StreamHandler)]
