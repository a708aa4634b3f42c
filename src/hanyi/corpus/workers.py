"""Work on blocks in several threads, with results in the order of the blocks."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from hanyi.errors import ParamsError

VARIABLE = "HANYI_WORKERS"

Job = TypeVar("Job")
Result = TypeVar("Result")


def worker_count() -> int:
    """Give the number of threads: what HANYI_WORKERS says, else one for each core.

    It is no parameter, since it changes no output.
    """
    asked = os.environ.get(VARIABLE, "")
    if not asked:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if not asked.isdecimal() or not int(asked):
        raise ParamsError(VARIABLE, repr(asked), "a number of threads, from 1", "mend or unset it")
    return int(asked)


def ordered(
    function: Callable[[Job], Result], jobs: Iterable[Job], workers: int
) -> Iterator[Result]:
    """Give `function` of each job in order, while threads are at work on the next few.

    Threads suffice, as numpy and Arrow release the interpreter's lock while they count.
    """
    if workers == 1:
        yield from map(function, jobs)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for job in jobs:
                waiting.append(pool.submit(function, job))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
