"""Beam search against exhaustive and plain searches over random tables; no model is involved."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hanyi.decoding.beam import beam_search
from hanyi.decoding.greedy import greedy_search
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.tokens.vocab import BOS, EOS, PAD
from tests.tables import Prefixes, Table, exhaustive, plain_beam, ranked

tables = st.builds(
    Table, st.integers(0, 10**6), st.integers(5, 9), st.sampled_from([0.3, 2.0, 6.0])
)
penalties = st.sampled_from([0.0, 0.6, 1.0, 2.5])


def search(
    table: Table, limits: Sequence[int], beams: int, n_best: int, length_penalty: float
) -> list[list[Hypothesis]]:
    return beam_search(
        table.step,
        Prefixes.begin(len(limits), beams),
        torch.tensor(limits),
        beams=beams,
        n_best=n_best,
        length_penalty=length_penalty,
    )


def assert_same(found: Sequence[Hypothesis], expected: Sequence[Hypothesis]) -> None:
    assert [(one.tokens, one.finished) for one in found] == [
        (one.tokens, one.finished) for one in expected
    ]
    assert [one.log_prob for one in found] == pytest.approx(
        [one.log_prob for one in expected], rel=1e-4, abs=1e-5
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), penalties, st.integers(1, 6))
def test_a_wide_enough_beam_is_exhaustive(
    seed: int, limit: int, length_penalty: float, n_best: int
) -> None:
    table = Table(seed, vocab=6)  # three tokens to write, and EOS
    every = ranked(exhaustive(table, 0, limit), length_penalty)
    (found,) = search(table, [limit], len(every), min(n_best, len(every)), length_penalty)
    assert_same(found, every[:n_best])


@settings(max_examples=100, deadline=None)
@given(
    tables,
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
    st.integers(1, 7),
    penalties,
    st.data(),
)
def test_batched_search_with_early_stop_equals_the_plain_one(
    table: Table, limits: list[int], beams: int, length_penalty: float, data: st.DataObject
) -> None:
    n_best = data.draw(st.integers(1, beams))
    found = search(table, limits, beams, n_best, length_penalty)
    for sentence, limit in enumerate(limits):
        expected = ranked(plain_beam(table, sentence, limit, beams), length_penalty)[:n_best]
        assert_same(found[sentence], expected)


@settings(max_examples=60, deadline=None)
@given(tables, st.lists(st.integers(1, 12), min_size=1, max_size=6), penalties)
def test_a_beam_of_one_is_greedy(table: Table, limits: list[int], length_penalty: float) -> None:
    greedy = greedy_search(table.step, Prefixes.begin(len(limits)), torch.tensor(limits))
    beam = search(table, limits, 1, 1, length_penalty)
    assert_same([one for (one,) in beam], greedy)


@settings(max_examples=60, deadline=None)
@given(
    tables,
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
    st.integers(1, 6),
    penalties,
)
def test_what_holds_for_every_hypothesis(
    table: Table, limits: list[int], beams: int, length_penalty: float
) -> None:
    for sentence, hypotheses in enumerate(search(table, limits, beams, beams, length_penalty)):
        assert hypotheses == ranked(hypotheses, length_penalty)
        assert len({(*one.tokens, one.finished) for one in hypotheses}) == len(hypotheses)
        for one in hypotheses:
            assert not {PAD, BOS, EOS} & set(one.tokens)
            assert len(one.tokens) + one.finished <= limits[sentence]
            assert one.finished or len(one.tokens) == limits[sentence]
            written = [*one.tokens, EOS] if one.finished else one.tokens
            forced = [
                table.log_probs(sentence, (BOS, *written[:place]))[token]
                for place, token in enumerate(written)
            ]
            assert one.log_prob == pytest.approx(sum(forced), rel=1e-4, abs=1e-5)
