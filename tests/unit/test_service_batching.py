"""The queue of the service, with a translator that does as the test says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from dataclasses import replace
from typing import Any

import pytest

from hanyi.decoding.config import PLAIN
from hanyi.service.batching import Batcher, Options, Ticket
from hanyi.service.faults import RefusedError
from hanyi.service.limits import USUAL, Limits
from hanyi.service.metrics import Metrics
from hanyi.translator import Result

BEAM = Options(PLAIN, alignment=False)
GREEDY = Options(replace(PLAIN, beam_size=1), alignment=False)


def result(text: str) -> Result:
    return Result(text, text.upper(), 0.0, 0.0, True, 1, [], [], [], [], None, None, [])


class Model:
    """Writes in capitals, in batches that it remembers; while it is held, none ends."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.numbers: list[int] = []
        self.free = threading.Event()
        self.free.set()
        self.begun = threading.Semaphore(0)

    def __call__(self, texts: Sequence[str], options: Options, numbers: Sequence[int]) -> list[Any]:
        self.batches.append(list(texts))
        self.numbers += numbers
        self.begun.release()
        assert self.free.wait(10)
        if "bad" in texts:
            raise ZeroDivisionError
        return [result(text) for text in texts]

    def hold(self, batcher: Batcher) -> Ticket:
        """Make the model busy."""
        self.free.clear()
        ticket = batcher.submit(["first"], BEAM)
        assert self.begun.acquire(timeout=10)
        return ticket


Make = Callable[..., Batcher]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def make(model: Model) -> Iterator[Make]:
    made: list[Batcher] = []

    def batcher(workers: int = 1, tokens: int = 4000, **limits: Any) -> Batcher:
        limited: Limits = replace(USUAL, **{"gather_seconds": 0.0, **limits})
        one = Batcher(model, len, limited, Metrics(), tokens=tokens, workers=workers)
        one.start()
        made.append(one)
        return one

    yield batcher
    model.free.set()
    for one in made:
        one.close()


def texts_of(ticket: Ticket) -> list[str]:
    return [one.text for one in ticket.future.result(10)]


def test_what_came_while_the_model_was_busy_is_one_batch(make: Make, model: Model) -> None:
    batcher = make()
    first = model.hold(batcher)
    tickets = [batcher.submit([f"a{number}", f"b{number}"], BEAM) for number in range(3)]
    assert batcher.depth == 6
    model.free.set()
    assert [texts_of(ticket) for ticket in tickets] == [["A0", "B0"], ["A1", "B1"], ["A2", "B2"]]
    assert texts_of(first) == ["FIRST"]
    assert model.batches == [["first"], ["a0", "b0", "a1", "b1", "a2", "b2"]]
    assert model.numbers == [0, 0, 1, 0, 1, 0, 1]  # the place in the request decides what is drawn
    assert batcher.depth == 0


def test_an_idle_model_waits_for_more_but_not_for_long(make: Make, model: Model) -> None:
    batcher = make(gather_seconds=1.0)  # time for a busy machine to hand in all three
    begin = time.monotonic()
    tickets = [batcher.submit([text], BEAM) for text in "abc"]
    wait([ticket.future for ticket in tickets], 30)
    assert model.batches == [["a", "b", "c"]]
    assert 1.0 <= time.monotonic() - begin < 20
    full = make(gather_seconds=60.0, batch_texts=2)
    begin = time.monotonic()
    assert texts_of(full.submit(["d", "e"], BEAM)) == ["D", "E"]
    assert time.monotonic() - begin < 30


def test_a_batch_is_of_equal_options_and_the_oldest_comes_first(make: Make, model: Model) -> None:
    batcher = make()
    model.hold(batcher)
    options = [GREEDY, BEAM, Options(PLAIN, alignment=True), GREEDY, BEAM]
    tickets = [batcher.submit([text], one) for text, one in zip("abcde", options, strict=True)]
    model.free.set()
    wait([ticket.future for ticket in tickets], 30)
    assert model.batches[1:] == [["a", "d"], ["b", "e"], ["c"]]


@pytest.mark.parametrize(
    ("limits", "tokens", "expected"),
    [
        ({"batch_texts": 2}, 4000, [["aa", "bb"], ["cc", "dddd"], ["e"]]),
        ({}, 4 * 6, [["aa", "bb", "cc"], ["dddd"], ["e"]]),  # of beam 4, padded to the longest
        ({}, 1, [["aa"], ["bb"], ["cc"], ["dddd"], ["e"]]),  # one text is always taken
    ],
)
def test_batches_have_limits(
    make: Make, model: Model, limits: dict[str, Any], tokens: int, expected: list[list[str]]
) -> None:
    batcher = make(tokens=tokens, **limits)
    model.hold(batcher)
    ticket = batcher.submit(["aa", "bb", "cc", "dddd", "e"], BEAM)
    model.free.set()
    assert texts_of(ticket) == ["AA", "BB", "CC", "DDDD", "E"]
    assert model.batches[1:] == expected


def test_a_full_queue_refuses_and_has_places_again(make: Make, model: Model) -> None:
    batcher = make(texts=3, queue_texts=3)
    model.hold(batcher)
    ticket = batcher.submit(["a", "b"], BEAM)
    with pytest.raises(RefusedError, match="queue: 2 texts wait and 2 came, expected at most 3"):
        batcher.submit(["c", "d"], BEAM)
    batcher.submit(["e"], BEAM)
    batcher.drop(ticket)
    assert batcher.depth == 1
    last = batcher.submit(["c", "d"], BEAM)
    assert texts_of(batcher.submit([], BEAM)) == []
    model.free.set()
    assert texts_of(last) == ["C", "D"]
    assert not any({"a", "b"} & set(batch) for batch in model.batches)


def test_a_text_that_fails_spoils_no_other(make: Make, model: Model) -> None:
    batcher = make()
    model.hold(batcher)
    good, bad, mixed = (batcher.submit(texts, BEAM) for texts in (["a"], ["bad"], ["b", "bad"]))
    model.free.set()
    assert texts_of(good) == ["A"]
    for ticket in (bad, mixed):
        with pytest.raises(ZeroDivisionError):
            ticket.future.result(10)
    assert texts_of(batcher.submit(["c"], BEAM)) == ["C"]
    assert batcher.alive


def test_workers_share_one_queue(make: Make, model: Model) -> None:
    batcher = make(workers=2, batch_texts=1)
    model.free.clear()
    ticket = batcher.submit(["a", "b", "c"], BEAM)
    assert model.begun.acquire(timeout=10)
    assert model.begun.acquire(timeout=10)
    assert ticket.begun
    assert batcher.depth == 1
    model.free.set()
    assert texts_of(ticket) == ["A", "B", "C"]


def test_closing_ends_what_has_begun_and_refuses_the_rest(make: Make, model: Model) -> None:
    batcher = make()
    assert not batcher.at_work
    begun = model.hold(batcher)
    waiting = batcher.submit(["a"], BEAM)
    assert batcher.at_work
    closing = threading.Thread(target=batcher.close)
    closing.start()
    with pytest.raises(RefusedError, match="service: it stops"):
        waiting.future.result(10)
    with pytest.raises(RefusedError, match="service: it stops"):
        batcher.submit(["b"], BEAM)
    model.free.set()
    closing.join(10)
    assert texts_of(begun) == ["FIRST"]
    assert not batcher.alive
    assert not batcher.at_work


def test_many_threads_get_their_own_results(make: Make, model: Model) -> None:
    batcher = make(workers=3, batch_texts=5, gather_seconds=0.001)
    found: dict[int, list[str]] = {}

    def ask(number: int) -> None:
        texts = [f"t{number}.{place}" for place in range(number % 7 + 1)]
        found[number] = texts_of(batcher.submit(texts, BEAM if number % 2 else GREEDY))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 60
    for number, texts in found.items():
        assert texts == [f"T{number}.{place}" for place in range(number % 7 + 1)]
    assert max(map(len, model.batches)) <= 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": 0}, "texts must be at least 1, got 0"),
        ({"texts": 10, "queue_texts": 9}, "queue_texts must be at least 10, got 9"),
        ({"timeout_seconds": 0.0}, "timeout_seconds must be over 0"),
        ({"timeout_seconds": float("inf")}, "timeout_seconds must be over 0"),
        ({"gather_seconds": float("nan")}, "gather_seconds must be at least 0, got nan"),
    ],
)
def test_limits_are_checked(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(USUAL, **change)
