"""Dropout (Vaswani et al. 2017, 5.4)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

WORD_BITS = 64
DRAW_BITS = 16


class Dropout(nn.Module):
    """Zero each element with a probability and scale the others up, in training only.

    PyTorch's own draws the mask on the CPU in one thread, a random word for each element: 5 to 10%
    of a training step. Cutting each word in four, for a probability in steps of 1/65536, takes a
    quarter of that.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, states: Tensor) -> Tensor:
        """Apply to any shape."""
        if not self.training or not self.probability:
            return states
        # A compiler makes the same draws cheap, and stumbles over words that are read in quarters.
        if states.device.type != "cpu" or torch.compiler.is_compiling():
            return F.dropout(states, self.probability)
        threshold = round(self.probability * 2**DRAW_BITS) - 2 ** (DRAW_BITS - 1)
        # Straight into floats: PyTorch's operations on booleans are several times slower.
        scale = torch.empty(states.shape, dtype=states.dtype)
        torch.ge(_draws(states.shape), threshold, out=scale)
        return states.mul(scale.mul_(1 / (1 - self.probability)))


def _draws(shape: torch.Size) -> Tensor:
    """Draw an int16 from its whole range for each element."""
    words = torch.empty(-(-shape.numel() * DRAW_BITS // WORD_BITS), dtype=torch.int64)
    words.random_(torch.iinfo(torch.int64).min, None)
    return words.view(torch.int16)[: shape.numel()].view(shape)
