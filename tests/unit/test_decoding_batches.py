"""Batches: the longest first, within a budget of tokens and of bytes, halved where memory ends."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hanyi.decoding import batches
from hanyi.decoding.batches import Cost, Fitting, Found, plan, room
from hanyi.decoding.config import PLAIN, SearchConfig
from hanyi.decoding.ensemble import Ensemble
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.jobs import Job
from hanyi.decoding.sentences import Sentence
from hanyi.errors import HanyiError
from hanyi.model.processes import ALONE
from tests.models import tiny_model

SENTENCES = st.lists(st.builds(Sentence, st.integers(1, 40), st.integers(1, 90)), max_size=30)


def product(src_len: int, limit: int) -> int:
    return src_len * limit


@given(SENTENCES, st.integers(1, 200), st.integers(1, 9000))
def test_batches_hold_all_and_keep_to_both_budgets(
    sentences: list[Sentence], tokens: int, bytes_: int
) -> None:
    planned = plan(sentences, tokens, bytes_, product)
    assert sorted(number for batch in planned for number in batch) == list(range(len(sentences)))
    lengths = [sentences[number].src_len for batch in planned for number in batch]
    assert lengths == sorted(lengths, reverse=True)
    for batch in planned:
        src_len = max(sentences[number].src_len for number in batch)
        limit = max(sentences[number].limit for number in batch)
        assert len(batch) == 1 or len(batch) * src_len <= tokens
        assert len(batch) == 1 or len(batch) * src_len * limit <= bytes_


def beam_of(size: int) -> SearchConfig:
    return replace(PLAIN, beam_size=size)


def test_the_cost_grows_with_what_a_sentence_takes() -> None:
    cost = Cost(tiny_model(), beam_of(1))
    assert cost(10, 20) < cost(11, 20) < cost(11, 21) < Cost(tiny_model(), beam_of(2))(11, 21)
    # Samples share no source.
    draws = replace(PLAIN, method="sample", n_best=4)
    assert Cost(tiny_model(), draws)(10, 1) > Cost(tiny_model(), beam_of(4))(10, 1)
    # The cache alone: keys and values of 2 layers, 16 wide, for 4 beams of 30 tokens.
    assert Cost(tiny_model(), beam_of(4))(10, 30) > 4 * (2 * 2 * 16 * 4 * 30)
    assert Cost(Ensemble([tiny_model(), tiny_model(1)]), beam_of(3))(9, 9) == 2 * Cost(
        tiny_model(), beam_of(3)
    )(9, 9)


def test_the_processes_of_a_machine_share_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "available_bytes", lambda device: 1000)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    cpu = torch.device("cpu")
    assert room(cpu, ALONE) == 500
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert room(cpu, ALONE) == 125
    assert room(torch.device("cuda"), ALONE) == 500


class Tight:
    """Work that fits at most so many jobs."""

    def __init__(self, most: int, message: str = "DefaultCPUAllocator: can't allocate memory"):
        self.most = most
        self.message = message
        self.tries: list[int] = []

    def __call__(self, jobs: list[Job]) -> list[Found]:
        self.tries.append(len(jobs))
        if len(jobs) > self.most:
            raise RuntimeError(self.message)
        return [[Hypothesis([job.number], 0.0, finished=True, score=0.0)] for job in jobs]


def jobs(count: int) -> list[Job]:
    return [Job([5, 6, 7], number=number) for number in range(count)]


def numbers(found: list[Found]) -> list[int]:
    return [one.tokens[0] for (one,) in found]


def test_memory_that_runs_out_halves_the_batch(caplog: pytest.LogCaptureFixture) -> None:
    work = Tight(3)
    fitting = Fitting(work, PLAIN)
    with caplog.at_level(logging.WARNING, "hanyi.decoding"):
        assert numbers(fitting(jobs(10))) == list(range(10))
    assert work.tries == [10, 5, 2, 3, 2, 3]
    assert [message.split(":")[0] for message in caplog.messages] == [
        "memory ran out at 10 sentences at once",
        "memory ran out at 5 sentences at once",
    ]
    work.tries.clear()
    assert numbers(fitting(jobs(10))) == list(range(10))
    assert work.tries == [2, 3, 2, 3]  # no further failure


def test_one_sentence_without_room_is_told() -> None:
    with pytest.raises(HanyiError, match="no room for one sentence of 3 tokens") as caught:
        Fitting(Tight(0), PLAIN)(jobs(4))
    assert "\n" not in str(caught.value)


def test_other_errors_are_left_as_they_are() -> None:
    with pytest.raises(RuntimeError, match="shapes"):
        Fitting(Tight(0, "shapes do not match"), PLAIN)(jobs(4))
