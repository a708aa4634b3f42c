"""Cases of beam search worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from hanyi.decoding.beam import beam_search
from hanyi.decoding.config import PLAIN
from hanyi.decoding.greedy import greedy_search
from hanyi.decoding.hypothesis import Hypothesis, next_log_probs
from hanyi.decoding.norms import average, gnmt
from hanyi.decoding.sentences import Sentence, Wish
from hanyi.tokens.vocab import BOS, EOS, PAD

A, B = 4, 5
NEVER = float("-inf")


class Rules:
    """Probabilities by the last token; also the cache, and a count of its steps and rows."""

    def __init__(self, rules: dict[int, dict[int, float]]) -> None:
        self.rules = rules
        self.rows: list[int] = []
        self.selected: list[list[int]] = []

    def step(self, tokens: Tensor, cache: Rules) -> Tensor:
        self.rows.append(len(tokens))
        logits = torch.full((len(tokens), 6), NEVER)
        for row, token in enumerate(tokens.tolist()):
            for following, probability in self.rules.get(token, {EOS: 1.0}).items():
                logits[row, following] = math.log(probability)
        return logits

    def select(self, index: Tensor) -> None:
        self.selected.append(index.tolist())


def search(rules: Rules, asked: list[int | Sentence], **options: Any) -> list[list[Hypothesis]]:
    """Search sentences that are known by their limit alone or in full, by score without a norm."""
    config = replace(PLAIN, **{"length_penalty": 0.0, "beam_size": 2, **options})
    sentences = [Sentence(1, one) if isinstance(one, int) else one for one in asked]
    return beam_search(rules.step, rules, sentences, config, torch.device("cpu"))


def greedy(rules: Rules, limits: list[int]) -> list[Hypothesis]:
    return greedy_search(rules.step, rules, torch.tensor(limits), PLAIN)


def test_beam_finds_what_greedy_misses() -> None:
    # Greedy takes A (0.6) and ends with 0.3; B (0.4) ends for sure.
    rules = {BOS: {A: 0.6, B: 0.4}, A: {EOS: 0.5, A: 0.5}, B: {EOS: 1.0}}
    (first,) = greedy(Rules(rules), [9])
    assert first.tokens == [A]
    assert first.log_prob == pytest.approx(math.log(0.3))
    (found,) = search(Rules(rules), [9], n_best=2)
    assert [one.tokens for one in found] == [[B], [A]]
    assert [one.log_prob for one in found] == pytest.approx([math.log(0.4), math.log(0.3)])


def test_length_penalty_prefers_the_longer() -> None:
    rules = {BOS: {EOS: 0.5, A: 0.5}, A: {B: 0.9, A: 0.1}, B: {EOS: 0.9, A: 0.1}}
    for alpha, tokens in ((0.0, []), (3.0, [A, B])):
        (found,) = search(Rules(rules), [9], length_penalty=alpha)
        assert found[0].tokens == tokens
    long = math.log(0.5 * 0.9 * 0.9)
    assert found[0].score == pytest.approx(long / (8 / 6) ** 3)


def test_stops_as_soon_as_nothing_can_win() -> None:
    # After EOS (0.9) the live rest (0.1) cannot win without a penalty, but with one it might.
    rules = {BOS: {EOS: 0.9, A: 0.1}, A: {A: 1.0}}
    for alpha, steps in ((0.0, 1), (1.0, 1), (6.0, 30)):
        counted = Rules(rules)
        search(counted, [30], length_penalty=alpha, patience=math.inf)
        assert len(counted.rows) == steps
    can_win = math.log(0.1) / gnmt(30, 6.0) > math.log(0.9) / gnmt(1, 6.0)
    assert can_win


def test_n_best_keeps_looking() -> None:
    rules = {BOS: {EOS: 0.9, A: 0.1}}
    (found,) = search(Rules(rules), [30], beam_size=3, n_best=2)
    assert [one.tokens for one in found] == [[], [A]]


def test_finished_sentences_leave_the_batch() -> None:
    rules = {BOS: {A: 1.0}, A: {A: 1.0}}
    counted = Rules(rules)
    found = search(counted, [1, 4, 2], beam_size=3)
    assert [len(one.tokens) for (one,) in found] == [1, 4, 2]
    assert counted.rows == [9, 6, 3, 3]
    assert counted.selected[0][::3] == [3, 6]
    counted = Rules(rules)
    greedy(counted, [1, 4, 2])
    assert counted.rows == [3, 2, 1, 1]
    assert counted.selected == [[1, 2], [0]]


def test_a_cut_hypothesis_comes_after_finished_ones() -> None:
    rules = {BOS: {A: 0.99, EOS: 0.01}, A: {A: 1.0}}
    (found,) = search(Rules(rules), [3], n_best=2)
    assert [(one.tokens, one.finished) for one in found] == [([], True), ([A, A, A], False)]


def test_padding_and_begin_are_never_written() -> None:
    rules = {BOS: {PAD: 0.5, BOS: 0.3, A: 0.2}}
    for found in (
        search(Rules(rules), [9])[0],
        greedy(Rules(rules), [9]),
    ):
        # The probability is that of forced decoding, in which they take their share.
        assert [one.tokens for one in found] == [[A]]
        assert found[0].log_prob == pytest.approx(math.log(0.2))


def test_more_beams_than_tokens() -> None:
    (found,) = search(Rules({BOS: {A: 0.7, B: 0.3}}), [5], beam_size=50, n_best=50)
    assert [one.tokens for one in found] == [[A], [B]]


def test_log_probs_are_taken_in_full_precision() -> None:
    logits = torch.randn(2, 8).to(torch.bfloat16)
    found = next_log_probs(logits)
    assert found.dtype == torch.float32
    expected = logits.float().log_softmax(-1)
    assert torch.equal(found[:, 3:], expected[:, 3:])
    assert found[:, [PAD, BOS]].isinf().all()


def test_norms_are_those_of_the_papers() -> None:
    assert gnmt(1, 0.7) == 1
    assert gnmt(7, 1.0) == 2
    assert gnmt(7, 2.0) == 4
    assert gnmt(7, 0.0) == 1
    assert average(7, 1.0) == 7
    assert average(9, 0.5) == 3
    assert average(9, 0.0) == 1


def test_patience_waits_for_more_to_finish() -> None:
    # Each step ends once with 0.4, so two have finished after two steps, four after four; the
    # likeliest is the first, but a strong norm could still make the longest the best.
    rules = {BOS: {EOS: 0.4, A: 0.6}, A: {EOS: 0.4, A: 0.6}}
    for patience, steps in ((1.0, 2), (1.5, 3), (2.0, 4), (math.inf, 30)):
        counted = Rules(rules)
        search(counted, [30], patience=patience, length_penalty=9.0)
        assert len(counted.rows) == steps


def test_patience_of_one_may_end_before_the_best_has_ended() -> None:
    # An end that is unlikely in each step still takes the second place of two.
    rules = {BOS: {A: 0.9, EOS: 0.1}, A: {B: 0.9, EOS: 0.1}}
    for options, tokens in (({"patience": 1.0}, []), ({}, [A, B])):
        (found,) = search(Rules(rules), [9], **options)
        assert found[0].tokens == tokens


def test_the_beam_stays_wide_when_a_hypothesis_finishes() -> None:
    # After EOS took one of two places, A and B both go on, and B's continuation wins.
    rules = {BOS: {EOS: 0.4, A: 0.35, B: 0.25}, A: {A: 0.5, B: 0.5}, B: {EOS: 1.0}}
    (found,) = search(Rules(rules), [9], n_best=2)
    assert [one.tokens for one in found] == [[], [B]]


def test_least_keeps_the_end_away() -> None:
    rules = {BOS: {EOS: 0.9, A: 0.1}, A: {EOS: 0.9, A: 0.1}}
    asked: list[int | Sentence] = [9, Sentence(1, 9, least=2), Sentence(1, 3, least=2)]
    for (one,), length in zip(search(Rules(rules), asked), (0, 2, 2), strict=True):
        assert one.tokens == [A] * length
        assert one.finished


def test_where_the_rules_leave_nothing_a_hypothesis_is_cut() -> None:
    rules = {BOS: {A: 1.0}, A: {EOS: 0.5, A: 0.5}}
    (found,) = search(Rules(rules), [Sentence(1, 9, least=5)], no_repeat_ngram=1)
    assert [(one.tokens, one.finished) for one in found] == [([A], False)]


def test_no_run_of_tokens_comes_twice() -> None:
    rules = {BOS: {A: 1.0}, A: {A: 0.6, B: 0.4}, B: {A: 0.9, EOS: 0.1}}
    for ngram, tokens in ((1, [A, B]), (2, [A, A, B]), (3, [A, A, A, B])):
        (found,) = search(Rules(rules), [20], beam_size=1, no_repeat_ngram=ngram)
        assert found[0].tokens[: len(tokens)] == tokens


def test_a_prefix_is_kept_and_the_probability_stays_that_of_the_model() -> None:
    rules = {BOS: {A: 0.9, B: 0.1}, A: {EOS: 1.0}, B: {A: 0.3, EOS: 0.7}}
    asked: list[int | Sentence] = [
        9,
        Sentence(1, 9, wish=Wish((B, A))),
        Sentence(1, 1, wish=Wish((B, A))),
    ]
    free, forced, cut = (one for (one,) in search(Rules(rules), asked))
    assert free.tokens == [A]
    assert (forced.tokens, forced.finished) == ([B, A], True)
    assert forced.log_prob == pytest.approx(math.log(0.1 * 0.3))
    assert (cut.tokens, cut.finished) == ([B], False)


def test_groups_differ() -> None:
    rules = {BOS: {A: 0.6, B: 0.3, 1: 0.1}}
    for diversity, tokens in ((0.0, [[A], [B]]), (0.5, [[A], [B]]), (5.0, [[A], [B], [1]])):
        (found,) = search(
            Rules(rules),
            [9],
            beam_size=4,
            beam_groups=2,
            n_best=4,
            diversity_penalty=diversity,
        )
        assert [one.tokens for one in found] == tokens


def test_terms_stand_in_what_is_finished() -> None:
    # B after A is unlikely, and B first is what the term is not.
    rules = {BOS: {A: 0.9, B: 0.1}, A: {EOS: 0.98, B: 0.02}, B: {EOS: 0.5, A: 0.5}}
    term = ((A, B), (B, B))
    for limit, tokens, finished in ((9, [A, B], True), (1, [A], False)):
        (found,) = search(Rules(rules), [Sentence(1, limit, wish=Wish((), (term,)))])
        assert (found[0].tokens, found[0].finished) == (tokens, finished)


def test_what_can_not_be_wished() -> None:
    for prefix, terms in (((A, EOS), ()), ((), (((PAD,),),)), ((), ((),)), ((), (((),),))):
        with pytest.raises(ValueError, match=r"special token|empty"):
            Wish(prefix, terms)
