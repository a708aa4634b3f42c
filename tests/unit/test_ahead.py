"""Results come in order, exceptions in the place of theirs, and closing ends the threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from hanyi.ahead import ahead


def threads_at_work() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("ahead")]


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_results_keep_the_order_of_the_items(threads: int) -> None:
    def late(number: int) -> int:
        time.sleep(0.002 * (number % 3))  # later ones are done first
        return number * number

    found = list(ahead(late, range(20), threads=threads, depth=4))
    assert found == [number * number for number in range(20)]
    assert not threads_at_work()


@pytest.mark.parametrize("threads", [0, 1])
def test_an_exception_arrives_in_its_place(threads: int) -> None:
    def picky(number: int) -> int:
        if number == 2:
            raise ValueError("two")
        return number

    results = ahead(picky, range(5), threads=threads, depth=3)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="two"):
        next(results)
    assert not threads_at_work()


def test_the_next_results_are_made_while_one_is_used() -> None:
    made = threading.Semaphore(0)

    def count(number: int) -> int:
        made.release()
        return number

    results = ahead(count, range(9), threads=1, depth=2)
    assert next(results) == 0
    for _ in range(3):  # the one that was given, and two more that nobody has asked for
        assert made.acquire(timeout=5)
    assert not made.acquire(timeout=0.05)
    results.close()


def test_items_are_read_in_the_callers_thread_and_no_further_than_asked() -> None:
    read: list[str] = []

    def items() -> Iterator[int]:
        for number in range(100):
            read.append(threading.current_thread().name)
            yield number

    results = ahead(lambda number: number, items(), threads=2, depth=3)
    next(results)
    results.close()
    assert read == [threading.current_thread().name] * 4


def test_closing_ends_the_threads_without_doing_the_rest() -> None:
    done: list[int] = []

    def slow(number: int) -> int:
        time.sleep(0.02)
        done.append(number)
        return number

    results = ahead(slow, range(100), threads=1, depth=50)
    next(results)
    results.close()
    assert not threads_at_work()
    assert len(done) < 5
