"""Masks: True = attend."""

from __future__ import annotations

import torch

from hanyi.model.masks import additive, causal_mask, padding_mask
from hanyi.tokens.vocab import EOS, PAD


def test_padding_mask() -> None:
    mask = padding_mask(torch.tensor([[7, 8, EOS], [9, EOS, PAD]]))
    assert mask.shape == (2, 1, 1, 3)
    assert mask.flatten(1).tolist() == [[True, True, True], [True, True, False]]


def test_causal_mask() -> None:
    mask = causal_mask(3, torch.device("cpu"))
    assert mask.shape == (1, 1, 3, 3)
    assert mask[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_additive_bias_gives_exact_zeros_and_no_nan() -> None:
    mask = torch.tensor([[True, False, True], [False, False, False]])
    weights = (torch.randn(2, 3) + additive(mask)).softmax(-1)
    assert weights[0, 1] == 0
    assert weights[0].sum() == 1
    assert weights.isfinite().all()
