"""Beam search against exhaustive and plain searches over random tables; no model is involved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hanyi.decoding.beam import beam_search
from hanyi.decoding.config import PLAIN, SearchConfig
from hanyi.decoding.greedy import greedy_search
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.sentences import Sentence, Wish
from hanyi.tokens.vocab import BOS, EOS, PAD
from tests.searches import Task, contains, exhaustive, plain_beam, ranked, repeats
from tests.tables import Prefixes, Table

CPU = torch.device("cpu")

tables = st.builds(
    Table, st.integers(0, 10**6), st.integers(6, 9), st.sampled_from([0.3, 2.0, 6.0])
)
norms: dict[str, Any] = {
    "length_norm": st.sampled_from(["gnmt", "average"]),
    "length_penalty": st.sampled_from([0.0, 0.6, 1.0, 2.5]),
    "coverage_penalty": st.sampled_from([0.0, 0.0, 0.5, 3.0]),
}


def configs(**changes: Any) -> st.SearchStrategy[SearchConfig]:
    return st.fixed_dictionaries({**norms, **changes}).map(lambda chosen: replace(PLAIN, **chosen))


@st.composite
def wishes(draw: st.DrawFn) -> Wish:
    token = st.sampled_from([1, 4, 5])  # which every table has
    runs = st.lists(token, min_size=1, max_size=3).map(tuple)
    terms = st.lists(st.lists(runs, min_size=1, max_size=2).map(tuple), max_size=2).map(tuple)
    return Wish(draw(st.lists(token, max_size=2).map(tuple)), draw(terms))


@st.composite
def sentences(draw: st.DrawFn, longest: int) -> Sentence:
    limit = draw(st.integers(1, longest))
    return Sentence(draw(st.integers(1, 4)), limit, draw(st.integers(0, limit - 1)), draw(wishes()))


@st.composite
def mixes(draw: st.DrawFn) -> SearchConfig:
    """Any options together."""
    groups = draw(st.integers(1, 3))
    beams = groups * draw(st.integers(1, 4))
    return draw(
        configs(
            beam_size=st.just(beams),
            n_best=st.integers(1, beams),
            beam_groups=st.just(groups),
            diversity_penalty=st.sampled_from([0.0, 0.7, 5.0]),
            patience=st.sampled_from([1.0, 1.5, 2.0, math.inf]),
            no_repeat_ngram=st.integers(0, 3),
        )
    )


def search(table: Table, asked: Sequence[Sentence], config: SearchConfig) -> list[list[Hypothesis]]:
    cache = Prefixes.begin(len(asked), config.beam_size, [one.src_len for one in asked])
    return beam_search(table.step, cache, asked, config, CPU)


def assert_same(found: Sequence[Hypothesis], expected: Sequence[Hypothesis]) -> None:
    assert [(one.tokens, one.finished) for one in found] == [
        (one.tokens, one.finished) for one in expected
    ]
    for value in ("log_prob", "score"):
        assert [getattr(one, value) for one in found] == pytest.approx(
            [getattr(one, value) for one in expected], rel=1e-4, abs=1e-5
        )


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 10**6),
    sentences(4),
    configs(beam_size=st.just(6), n_best=st.integers(1, 6), no_repeat_ngram=st.integers(0, 2)),
)
def test_a_wide_enough_beam_is_exhaustive(
    seed: int, sentence: Sentence, config: SearchConfig
) -> None:
    table = Table(seed, vocab=6)  # three tokens to write, and EOS
    every = exhaustive(Task(table, sentence, config))
    config = replace(config, beam_size=len(every), n_best=min(config.n_best, len(every)))
    (found,) = search(table, [sentence], config)
    assert_same(found, every[: config.n_best])


@settings(max_examples=150, deadline=None)
@given(tables, st.lists(sentences(9), min_size=1, max_size=4), mixes())
def test_batched_search_with_early_stop_equals_the_plain_one(
    table: Table, asked: list[Sentence], config: SearchConfig
) -> None:
    for number, found in enumerate(search(table, asked, config)):
        expected = plain_beam(Task(table, asked[number], config, number))
        assert_same(found, expected[: config.n_best])


@settings(max_examples=60, deadline=None)
@given(
    tables,
    st.lists(st.integers(1, 12), min_size=1, max_size=6),
    configs(
        beam_size=st.just(1),
        coverage_penalty=st.just(0.0),
        patience=st.sampled_from([1.0, 2.0, math.inf]),
    ),
)
def test_a_beam_of_one_is_greedy(table: Table, limits: list[int], config: SearchConfig) -> None:
    asked = [Sentence(1, limit) for limit in limits]
    greedy = greedy_search(table.step, Prefixes.begin(len(limits)), torch.tensor(limits), config)
    assert_same([one for (one,) in search(table, asked, config)], greedy)


@settings(max_examples=60, deadline=None)
@given(tables, st.lists(sentences(9), min_size=1, max_size=4), mixes())
def test_what_holds_for_every_hypothesis(
    table: Table, asked: list[Sentence], config: SearchConfig
) -> None:
    for number, hypotheses in enumerate(search(table, asked, config)):
        assert 1 <= len(hypotheses) <= config.n_best
        assert hypotheses == ranked(hypotheses)
        assert len({(*one.tokens, one.finished) for one in hypotheses}) == len(hypotheses)
        for one in hypotheses:
            check_rules(one, asked[number], config)
            written = [*one.tokens, EOS] if one.finished else one.tokens
            forced = [
                table.log_probs(number, (BOS, *written[:place]))[token]
                for place, token in enumerate(written)
            ]
            assert one.log_prob == pytest.approx(sum(forced), rel=1e-4, abs=1e-5)


def check_rules(one: Hypothesis, sentence: Sentence, config: SearchConfig) -> None:
    tokens, prefix = tuple(one.tokens), sentence.wish.prefix
    assert not {PAD, BOS, EOS} & set(tokens)
    assert len(tokens) + one.finished <= sentence.limit
    assert tokens[: len(prefix)] == prefix[: len(tokens)]
    if config.no_repeat_ngram:
        for end in range(len(prefix) + 1, len(tokens) + 1):
            assert not repeats(tokens[:end], config.no_repeat_ngram)
    if one.finished:
        assert len(tokens) >= max(sentence.least, len(prefix))
        for runs in sentence.wish.terms:
            assert any(contains(tokens, run) for run in runs)
