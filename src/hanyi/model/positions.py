"""Positional encoding (Vaswani et al. 2017, 3.5); another one is a class and a registry line."""

from __future__ import annotations

import math
from abc import abstractmethod

import torch
from torch import Tensor, nn

MAX_WAVELENGTH = 10_000
START_LENGTH = 128  # tokens; the table grows when a longer sequence comes


class SinusoidalPositions(nn.Module):
    """Encode each position as sines and cosines of `d_model / 2` frequencies."""

    table: Tensor

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.register_buffer("table", self.encode(START_LENGTH), persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        """Give the encodings of positions start, start + 1, ... as `[length, d_model]`."""
        if start + length > len(self.table):
            self.table = self.encode(2 * (start + length)).to(self.table)
        return self.table[start : start + length]

    def encode(self, length: int) -> Tensor:
        """Compute the table `[length, d_model]`, in double precision before it is rounded once."""
        position = torch.arange(length, dtype=torch.float64)
        angles = position[:, None] * self.frequencies()  # [length, d_model / 2]
        return self.arrange(angles.sin(), angles.cos()).float()

    @abstractmethod
    def frequencies(self) -> Tensor:
        """Give the angle by which each of the `d_model / 2` waves advances in a position."""

    @abstractmethod
    def arrange(self, sines: Tensor, cosines: Tensor) -> Tensor:
        """Lay out `[length, d_model / 2]` twice as `[length, d_model]`."""


class InterleavedPositions(SinusoidalPositions):
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) its cosine: the paper, 3.5."""

    def frequencies(self) -> Tensor:
        """Give 10000^(-2i / d_model)."""
        even = torch.arange(0, self.d_model, 2, dtype=torch.float64)
        return torch.exp(even * (-math.log(MAX_WAVELENGTH) / self.d_model))

    def arrange(self, sines: Tensor, cosines: Tensor) -> Tensor:
        """Put each cosine after its sine."""
        return torch.stack((sines, cosines), dim=-1).flatten(-2)


class ConcatenatedPositions(SinusoidalPositions):
    """All sines, then all cosines, as in Tensor2Tensor's `get_timing_signal_1d`.

    Its frequencies reach 1 / 10000 exactly: 10000^(-i / (d_model / 2 - 1)).
    """

    def frequencies(self) -> Tensor:
        """Give 10000^(-i / (d_model / 2 - 1))."""
        waves = self.d_model // 2
        step = math.log(MAX_WAVELENGTH) / max(waves - 1, 1)
        return torch.exp(torch.arange(waves, dtype=torch.float64) * -step)

    def arrange(self, sines: Tensor, cosines: Tensor) -> Tensor:
        """Put the cosines after the sines."""
        return torch.cat((sines, cosines), dim=-1)


POSITIONS: dict[str, type[SinusoidalPositions]] = {
    "interleaved": InterleavedPositions,
    "concatenated": ConcatenatedPositions,
}
