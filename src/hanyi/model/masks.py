"""Masks, True = attend, and the bias that puts them into effect (Vaswani et al. 2017, 3.2.3)."""

from __future__ import annotations

import torch
from torch import Tensor

from hanyi.tokens.vocab import PAD

# Far below any score, so that softmax gives exactly 0; finite, so that a row of padding gives no
# NaN.
MASKED = -1e9


def padding_mask(tokens: Tensor) -> Tensor:
    """Attend to real tokens: `[batch, length]` gives `[batch, 1, 1, length]`."""
    return (tokens != PAD)[:, None, None, :]


def causal_mask(length: int, device: torch.device) -> Tensor:
    """Attend to oneself and earlier positions: `[1, 1, length, length]`."""
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()


def additive(mask: Tensor) -> Tensor:
    """Turn a mask into what is added to the scores: 0 to attend, far below zero not to."""
    return torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, MASKED)
