"""The rules that all searches share."""

from __future__ import annotations

import pytest
import torch

from hanyi.decoding.hypothesis import (
    GROUPS,
    NEVER,
    WORTH_GROUPS,
    best_tokens,
    next_log_probs,
)


@pytest.mark.parametrize("size", [7, WORTH_GROUPS - 1, WORTH_GROUPS, WORTH_GROUPS + GROUPS - 1])
@pytest.mark.parametrize("count", [1, 6, GROUPS])
@pytest.mark.parametrize("kind", ["any", "alike", "ruled out"])
def test_best_tokens_are_those_of_one_look_at_all(size: int, count: int, kind: str) -> None:
    torch.manual_seed(size + count)
    log_probs = torch.randn(5, size)
    if kind == "alike":
        log_probs = log_probs.round()
    if kind == "ruled out":
        log_probs[:, 3:] = float("-inf")
        log_probs[0] = float("-inf")
    count = min(count, size)
    values, tokens = best_tokens(log_probs, count)
    assert torch.equal(values, log_probs.topk(count).values)
    assert torch.equal(log_probs.gather(1, tokens), values)
    assert all(len(set(row)) == count for row in tokens.tolist())


def test_the_last_tokens_of_a_vocabulary_can_be_the_best() -> None:
    log_probs = torch.zeros(1, WORTH_GROUPS + 3)
    log_probs[0, -1] = 1.0
    assert best_tokens(log_probs, 1)[1].tolist() == [[WORTH_GROUPS + 2]]


def test_next_log_probs_are_normalised_before_tokens_are_ruled_out() -> None:
    logits = torch.randn(3, 9)
    expected = logits.log_softmax(dim=-1)
    found = next_log_probs(logits.clone())
    others = [token for token in range(9) if token not in NEVER]
    assert torch.equal(found[:, others], expected[:, others])
    assert found[:, NEVER].isneginf().all()
