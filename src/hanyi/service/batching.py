"""Texts of many requests, translated together.

A worker takes what waits: from the oldest text on those that are to be searched in the same way,
until a batch is full. While the model is busy texts gather by themselves; only an idle worker waits
for more, and no longer than a few milliseconds.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from hanyi.decoding.config import SearchConfig
from hanyi.service.faults import RefusedError, stopping
from hanyi.service.limits import Limits
from hanyi.service.metrics import Metrics
from hanyi.translator import Result

SMOOTHING = 0.1
"""Weight of the newest batch in the mean time of a text."""


@dataclass(frozen=True, slots=True)
class Options:
    """What texts of a batch have in common."""

    search: SearchConfig
    alignment: bool


class Ticket:
    """What a request gets for its texts: a future of their results, in order."""

    def __init__(self, texts: Sequence[str], options: Options) -> None:
        self.options = options
        self.future: Future[list[Result]] = Future()
        self.future.set_running_or_notify_cancel()  # from here on only a worker decides
        self.begun = False
        self._results: dict[int, Result] = {}
        self._texts = len(texts)
        self._lock = threading.Lock()  # several workers may have texts of it

    def put(self, place: int, result: Result) -> None:
        """Take the result of one text; with the last of them all are given."""
        with self._lock:
            self._results[place] = result
            if len(self._results) == self._texts:
                self.future.set_result([self._results[each] for each in range(self._texts)])

    def fail(self, error: Exception) -> None:
        """Give an error instead of results."""
        with self._lock:
            if not self.future.done():
                self.future.set_exception(error)


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """One text in the queue."""

    ticket: Ticket
    place: int  # among the texts of its request
    text: str
    tokens: int
    since: float = field(default_factory=time.monotonic)


class Translate(Protocol):
    """Translates texts; what is drawn for each depends on its number."""

    def __call__(
        self, texts: Sequence[str], options: Options, numbers: Sequence[int]
    ) -> list[Result]:
        """Give a result for each text."""


class Batcher:
    """A queue, and the workers that empty it."""

    def __init__(
        self,
        translate: Translate,
        length: Callable[[str], int],
        limits: Limits,
        metrics: Metrics,
        *,
        tokens: int,
        workers: int,
    ) -> None:
        """Take at most `tokens` padded source tokens times beams at once, as `decode` does."""
        self.limits = limits
        self._translate = translate
        self._length = length
        self._metrics = metrics
        self._tokens = tokens
        self._queue: list[Waiting] = []
        self._changed = threading.Condition()
        self._closed = False
        self._working = 0  # workers that translate
        self._text_seconds = 0.0
        self._workers = workers
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to work."""
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"hanyi-batch-{number}", daemon=True)
            for number in range(self._workers)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop when the batches that have begun are done; what waits is refused."""
        with self._changed:
            self._closed = True
            left, self._queue = self._queue, []
            self._changed.notify_all()
        for waiting in left:
            waiting.ticket.fail(stopping())
        for thread in self._threads:
            thread.join(self.limits.grace_seconds)

    @property
    def depth(self) -> int:
        """Give how many texts wait."""
        return len(self._queue)

    @property
    def at_work(self) -> bool:
        """Tell whether a batch is being translated."""
        return self._working > 0

    @property
    def alive(self) -> bool:
        """Tell whether the workers work."""
        return bool(self._threads) and all(thread.is_alive() for thread in self._threads)

    def submit(self, texts: Sequence[str], options: Options) -> Ticket:
        """Put the texts of a request into the queue.

        Raises `RefusedError` when there is no place for all of them.
        """
        ticket = Ticket(texts, options)
        if not texts:
            ticket.future.set_result([])
            return ticket
        items = [
            Waiting(ticket, place, text, self._length(text)) for place, text in enumerate(texts)
        ]
        with self._changed:
            if self._closed:
                raise stopping()
            if len(self._queue) + len(items) > self.limits.queue_texts:
                raise self._full(len(items))
            self._queue += items
            self._changed.notify_all()
        return ticket

    def drop(self, ticket: Ticket) -> None:
        """Free the places of a request that nobody waits for any more."""
        with self._changed:
            self._queue = [waiting for waiting in self._queue if waiting.ticket is not ticket]

    def patience(self) -> int:
        """Give after how many seconds the texts that wait now will have been translated."""
        seconds = self._text_seconds * len(self._queue) / self._workers
        return min(max(math.ceil(seconds), 1), 60)

    def _full(self, texts: int) -> RefusedError:
        limit = self.limits.queue_texts
        found = f"{len(self._queue)} texts wait and {texts} came"
        return RefusedError(
            429, "queue", found, f"at most {limit}", "try again later", retry_after=self.patience()
        )

    def _work(self) -> None:
        while batch := self._take():
            with self._changed:
                self._working += 1
            try:
                self._run(batch)
            finally:
                with self._changed:
                    self._working -= 1

    def _take(self) -> list[Waiting]:
        """Wait for a batch; an empty one means the end."""
        with self._changed:
            while not self._closed:
                batch, full = self._next()
                if not batch:
                    self._changed.wait()
                    continue
                left = batch[0].since + self.limits.gather_seconds - time.monotonic()
                if full or left <= 0:
                    taken = set(batch)
                    self._queue = [waiting for waiting in self._queue if waiting not in taken]
                    for waiting in batch:
                        waiting.ticket.begun = True
                    return batch
                self._changed.wait(left)
        return []

    def _next(self) -> tuple[list[Waiting], bool]:
        """Give the batch that could be taken now, and whether no other text fits in."""
        batch: list[Waiting] = []
        longest = 0
        for waiting in self._queue:
            options = waiting.ticket.options
            if batch and options != batch[0].ticket.options:
                continue
            padded = max(longest, waiting.tokens) * (len(batch) + 1) * options.search.places
            if batch and padded > self._tokens:
                return batch, True
            batch.append(waiting)
            longest = max(longest, waiting.tokens)
            if len(batch) == self.limits.batch_texts:
                return batch, True
        return batch, False

    def _run(self, batch: Sequence[Waiting]) -> None:
        begin = time.monotonic()
        try:
            results = self._translate(
                [waiting.text for waiting in batch],
                batch[0].ticket.options,
                [waiting.place for waiting in batch],
            )
        except Exception as error:  # noqa: BLE001  whatever it is, the others go on
            if len(batch) == 1:
                batch[0].ticket.fail(error)
            else:  # one text must not spoil the others
                for waiting in batch:
                    self._run([waiting])
            return
        self._count(batch, begin, time.monotonic() - begin)
        for waiting, result in zip(batch, results, strict=True):
            waiting.ticket.put(waiting.place, result)

    def _count(self, batch: Sequence[Waiting], begin: float, seconds: float) -> None:
        each = seconds / len(batch)
        self._text_seconds += SMOOTHING * (each - self._text_seconds)
        self._metrics.texts.inc(len(batch))
        self._metrics.batch_texts.observe(len(batch))
        self._metrics.batch_tokens.observe(sum(waiting.tokens for waiting in batch))
        self._metrics.batch_seconds.observe(seconds)
        for waiting in batch:
            self._metrics.queue_seconds.observe(begin - waiting.since)
