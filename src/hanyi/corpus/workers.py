"""Work on blocks in several threads, with results in the order of the blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from hanyi.ahead import ahead
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
    """Give `function` of each job in order, while threads are at work on the next few."""
    return ahead(function, jobs, threads=workers if workers > 1 else 0, depth=workers)
