"""What may not be written next, row by row."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hanyi.decoding.rules import Rules
from hanyi.decoding.sentences import Sentence, Wish
from hanyi.tokens.vocab import EOS

CPU = torch.device("cpu")
VOCAB = 9


def left(rules: Rules, written: list[list[int]], owners: list[int]) -> list[list[int]]:
    """Give the tokens that each row may go on with."""
    log_probs = torch.arange(-1.0, -1.0 - VOCAB, -1.0).repeat(len(written), 1)
    before = log_probs.clone()
    rules.rule_out(log_probs, torch.tensor(written).view(len(written), -1), torch.tensor(owners))
    kept: Tensor = log_probs.isfinite()
    assert torch.equal(log_probs[kept], before[kept])  # probabilities stay as they are
    return [row.nonzero().flatten().tolist() for row in kept]


def without(*tokens: int) -> list[int]:
    return [token for token in range(VOCAB) if token not in tokens]


def test_no_rule_is_idle() -> None:
    rules = Rules([Sentence(3, 9)], 0, CPU)
    assert rules.idle
    assert left(rules, [[5, 5]], [0]) == [without()]


def test_the_end_waits_for_the_least_length_of_its_sentence() -> None:
    rules = Rules([Sentence(3, 9), Sentence(3, 9, least=2)], 0, CPU)
    assert left(rules, [[], []], [0, 1]) == [without(), without(EOS)]
    assert left(rules, [[5], [5], [5]], [1, 0, 1]) == [without(EOS), without(), without(EOS)]
    assert left(rules, [[5, 5]], [1]) == [without()]


@pytest.mark.parametrize(
    ("ngram", "written", "gone"),
    [
        (1, [], []),
        (1, [5, 6], [5, 6]),
        (2, [5], []),
        (2, [5, 6, 5], [6]),
        (2, [5, 5], [5]),
        (2, [5, 6, 5, 7, 5], [6, 7]),
        (3, [5, 6, 5], []),
        (3, [5, 6, 7, 5, 6], [7]),
        (3, [5, 5, 5], [5]),
    ],
)
def test_a_run_comes_once(ngram: int, written: list[int], gone: list[int]) -> None:
    rules = Rules([Sentence(3, 9)], ngram, CPU)
    assert left(rules, [written], [0]) == [without(*gone)]


def test_each_row_has_its_own_history() -> None:
    rules = Rules([Sentence(3, 9), Sentence(3, 9)], 2, CPU)
    assert left(rules, [[5, 6, 5], [6, 7, 6]], [0, 1]) == [without(6), without(7)]


def test_a_prefix_comes_before_all_other_rules() -> None:
    wish = Wish((5, 5, 5))
    rules = Rules([Sentence(3, 9), Sentence(3, 9, 4, wish), Sentence(3, 9, 0, wish)], 1, CPU)
    assert left(rules, [[6, 7], [5, 5], [5, 5]], [0, 1, 2]) == [without(6, 7), [5], [5]]
    assert left(rules, [[5, 5, 5]], [1]) == [without(5, EOS)]
    assert left(rules, [[5, 5, 5]], [2]) == [without(5)]
