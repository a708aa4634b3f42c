"""Cases of beam search worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from hanyi.decoding.beam import beam_search
from hanyi.decoding.greedy import greedy_search
from hanyi.decoding.hypothesis import Hypothesis, next_log_probs, penalty
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


def search(rules: Rules, limits: list[int], beams: int, n_best: int = 1, alpha: float = 0.0):
    return beam_search(
        rules.step, rules, torch.tensor(limits), beams=beams, n_best=n_best, length_penalty=alpha
    )


def test_beam_finds_what_greedy_misses() -> None:
    # Greedy takes A (0.6) and ends with 0.3; B (0.4) ends for sure.
    rules = {BOS: {A: 0.6, B: 0.4}, A: {EOS: 0.5, A: 0.5}, B: {EOS: 1.0}}
    greedy = greedy_search(Rules(rules).step, Rules(rules), torch.tensor([9]))
    assert greedy == [Hypothesis([A], pytest.approx(math.log(0.3)), True)]
    (found,) = search(Rules(rules), [9], beams=2, n_best=2)
    assert found == [
        Hypothesis([B], pytest.approx(math.log(0.4)), True),
        Hypothesis([A], pytest.approx(math.log(0.3)), True),
    ]


def test_length_penalty_prefers_the_longer() -> None:
    rules = {BOS: {EOS: 0.5, A: 0.5}, A: {B: 0.9, A: 0.1}, B: {EOS: 0.9, A: 0.1}}
    for alpha, tokens in ((0.0, []), (3.0, [A, B])):
        (found,) = search(Rules(rules), [9], beams=2, alpha=alpha)
        assert found[0].tokens == tokens
    long = math.log(0.5 * 0.9 * 0.9)
    assert found[0].score(3.0) == pytest.approx(long / (8 / 6) ** 3)


def test_stops_as_soon_as_nothing_can_win() -> None:
    # After EOS (0.9) the live rest (0.1) cannot win without a penalty, but with one it might.
    rules = {BOS: {EOS: 0.9, A: 0.1}, A: {A: 1.0}}
    for alpha, steps in ((0.0, 1), (1.0, 1), (6.0, 30)):
        counted = Rules(rules)
        search(counted, [30], beams=2, alpha=alpha)
        assert len(counted.rows) == steps
    can_win = math.log(0.1) / penalty(30, 6.0) > math.log(0.9) / penalty(1, 6.0)
    assert can_win


def test_n_best_keeps_looking() -> None:
    rules = {BOS: {EOS: 0.9, A: 0.1}}
    (found,) = search(Rules(rules), [30], beams=3, n_best=2)
    assert [one.tokens for one in found] == [[], [A]]


def test_finished_sentences_leave_the_batch() -> None:
    rules = {BOS: {A: 1.0}, A: {A: 1.0}}
    counted = Rules(rules)
    found = search(counted, [1, 4, 2], beams=3)
    assert [len(one.tokens) for (one,) in found] == [1, 4, 2]
    assert counted.rows == [9, 6, 3, 3]
    assert counted.selected[0][::3] == [3, 6]
    counted = Rules(rules)
    greedy_search(counted.step, counted, torch.tensor([1, 4, 2]))
    assert counted.rows == [3, 2, 1, 1]
    assert counted.selected == [[1, 2], [0]]


def test_a_cut_hypothesis_comes_after_finished_ones() -> None:
    rules = {BOS: {A: 0.99, EOS: 0.01}, A: {A: 1.0}}
    (found,) = search(Rules(rules), [3], beams=2, n_best=2)
    assert [(one.tokens, one.finished) for one in found] == [([], True), ([A, A, A], False)]


def test_padding_and_begin_are_never_written() -> None:
    rules = {BOS: {PAD: 0.5, BOS: 0.3, A: 0.2}}
    for found in (
        search(Rules(rules), [9], beams=2)[0],
        greedy_search(Rules(rules).step, Rules(rules), torch.tensor([9])),
    ):
        # The probability is that of forced decoding, in which they take their share.
        assert found == [Hypothesis([A], pytest.approx(math.log(0.2)), True)]


def test_more_beams_than_tokens() -> None:
    (found,) = search(Rules({BOS: {A: 0.7, B: 0.3}}), [5], beams=50, n_best=50)
    assert [one.tokens for one in found] == [[A], [B]]


def test_log_probs_are_taken_in_full_precision() -> None:
    logits = torch.randn(2, 8).to(torch.bfloat16)
    found = next_log_probs(logits)
    assert found.dtype == torch.float32
    expected = logits.float().log_softmax(-1)
    assert torch.equal(found[:, 3:], expected[:, 3:])
    assert found[:, [PAD, BOS]].isinf().all()


def test_penalty_is_that_of_the_paper() -> None:
    assert penalty(1, 0.7) == 1
    assert penalty(7, 1.0) == 2
    assert penalty(7, 2.0) == 4
    assert penalty(7, 0.0) == 1
