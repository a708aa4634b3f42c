"""Results of a function in order, while threads are at work on those that come next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def ahead(
    function: Callable[[Item], Result], items: Iterable[Item], *, threads: int, depth: int
) -> Generator[Result, None, None]:
    """Give `function` of each item in order, with `depth` items more in work or done.

    `items` is read in the caller's thread; 0 threads do all the work there too. An exception
    arrives in the place of its result. Closing the iterator ends the threads, after what they are
    at. Threads suffice where the work is numpy's, Arrow's or the tokenizer's, which release the
    interpreter's lock.
    """
    if threads == 0:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="ahead")
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
