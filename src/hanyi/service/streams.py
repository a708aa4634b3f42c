"""Translations that are read while they are written, each in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from hanyi.service.faults import RefusedError
from hanyi.translator import Result, Stream

T = TypeVar("T")
Piece = str | Result | Exception
"""What comes out of the thread: the last is a result or what went wrong."""


class Streams:
    """Places for work that cannot be batched; a few threads do it, the others wait for them."""

    def __init__(self, places: int, threads: int) -> None:
        self.places = places
        self.taken = 0
        self._count = threads

    def start(self) -> None:
        """Begin to work."""
        self._threads = ThreadPoolExecutor(self._count, "hanyi-follow")

    def close(self) -> None:
        """Let those that have begun end."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def place(self) -> Generator[None, None, None]:
        """Hold a place; raise `RefusedError` when none is left."""
        if self.taken >= self.places:
            raise RefusedError(
                429,
                "streams",
                f"{self.taken} at once",
                f"at most {self.places}",
                "try again later",
                retry_after=1,
            )
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1

    def begin(self, work: Callable[[], T]) -> Future[T]:
        """Do something as soon as a thread is free."""
        return self._threads.submit(work)

    async def follow(
        self, begin: Callable[[], Stream], seconds: float
    ) -> AsyncGenerator[Piece, None]:
        """Begin a stream in a thread and give what comes; a result or an error is the last.

        The stream stops at the next piece when nobody follows any more, or the time is over.
        """
        loop = asyncio.get_running_loop()
        came: asyncio.Queue[Piece] = asyncio.Queue()
        stop = threading.Event()

        def put(piece: Piece) -> None:
            if not stop.is_set():
                loop.call_soon_threadsafe(came.put_nowait, piece)

        work = self._threads.submit(_run, begin, put, stop)
        until = loop.time() + seconds
        try:
            while True:
                piece = await asyncio.wait_for(came.get(), until - loop.time())
                yield piece
                if not isinstance(piece, str):
                    return
        except asyncio.TimeoutError:
            yield RefusedError(
                504, "stream", f"over {seconds:g} seconds", "less", "send a shorter text"
            )
        finally:
            stop.set()
            work.cancel()


def _run(begin: Callable[[], Stream], put: Callable[[Piece], None], stop: threading.Event) -> None:
    try:
        stream = begin()
        for piece in stream:
            put(piece)
            if stop.is_set():
                stream.close()
                return
        put(stream.result)
    except Exception as error:  # noqa: BLE001  it is told where the stream is followed
        put(error)
