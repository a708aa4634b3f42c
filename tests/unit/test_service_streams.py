"""Streams of the service: what comes out, and that they end when nobody follows."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest

from hanyi.service.faults import RefusedError
from hanyi.service.streams import Piece, Streams
from hanyi.translator import Result

WHOLE = Result("", "ab", 0.0, 0.0, True, 1, [], [], [], [], None, None, [])


class Stream:
    """Gives pieces, each when it may; remembers that it was closed."""

    result = WHOLE

    def __init__(self, *pieces: str | Exception, free: bool = True) -> None:
        self.pieces = pieces
        self.free = threading.Event()
        if free:
            self.free.set()
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[str]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece
            assert self.free.wait(10)

    def close(self) -> None:
        self.closed.set()


@pytest.fixture
def streams() -> Iterator[Streams]:
    made = Streams(places=3, threads=1)
    made.start()
    yield made
    made.close()


async def collect(streams: Streams, stream: Any, seconds: float = 10.0) -> list[Piece]:
    return [piece async for piece in streams.follow(lambda: stream, seconds)]


def test_pieces_and_then_the_result(streams: Streams) -> None:
    stream = Stream("a", "b", "")
    assert asyncio.run(collect(streams, stream)) == ["a", "b", "", WHOLE]


def test_an_error_is_the_last(streams: Streams) -> None:
    error = ZeroDivisionError()
    assert asyncio.run(collect(streams, Stream("a", error))) == ["a", error]

    def broken() -> Any:
        raise error

    async def follow() -> list[Piece]:
        return [piece async for piece in streams.follow(broken, 10.0)]

    assert asyncio.run(follow()) == [error]


def test_a_stream_that_nobody_follows_is_closed(streams: Streams) -> None:
    stream = Stream("a", "b", "c", free=False)

    async def leave() -> None:
        async with aclosing(streams.follow(lambda: stream, 10.0)) as pieces:
            assert await anext(pieces) == "a"

    asyncio.run(leave())
    stream.free.set()
    assert stream.closed.wait(10)
    assert asyncio.run(collect(streams, Stream("d"))) == ["d", WHOLE]


def test_time_runs_out(streams: Streams) -> None:
    stream = Stream("a", "b", free=False)
    first, last = asyncio.run(collect(streams, stream, seconds=0.1))
    assert first == "a"
    assert isinstance(last, RefusedError)
    assert last.status == 504
    waiting = asyncio.run(collect(streams, Stream("c"), seconds=0.1))  # the thread is busy
    assert [type(piece) for piece in waiting] == [RefusedError]
    stream.free.set()
    assert stream.closed.wait(10)


def test_places(streams: Streams) -> None:
    with streams.place(), streams.place(), streams.place():
        with (
            pytest.raises(RefusedError, match="streams: 3 at once, expected at most 3"),
            streams.place(),
        ):
            pass
        assert streams.taken == 3
    assert streams.taken == 0
