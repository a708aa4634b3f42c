"""Positional encoding (Vaswani et al. 2017, 3.5); another one is a class and a registry line.

One that is added to the embeddings stands in `ADDED`; one that turns queries and keys in `TURNING`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

MAX_WAVELENGTH = 10_000
START_LENGTH = 128  # tokens; the table grows when a longer sequence comes


class Waves(nn.Module):
    """A table of sines and cosines of `size / 2` frequencies at each position."""

    table: Tensor  # [positions so far, size]

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("table", self.encode(START_LENGTH), persistent=False)

    def rows(self, start: int, length: int) -> Tensor:
        """Give the encodings of positions start, start + 1, ... as `[length, size]`."""
        if start + length > len(self.table):
            self.table = self.encode(2 * (start + length)).to(self.table)
        return self.table[start : start + length]

    def encode(self, length: int) -> Tensor:
        """Compute the table `[length, size]`, in double precision before it is rounded once."""
        position = torch.arange(length, dtype=torch.float64)
        angles = position[:, None] * self.frequencies()  # [length, size / 2]
        return self.arrange(angles.sin(), angles.cos()).float()

    def frequencies(self) -> Tensor:
        """Give the angle by which each wave advances in a position: 10000^(-2i / size)."""
        even = torch.arange(0, self.size, 2, dtype=torch.float64)
        return torch.exp(even * (-math.log(MAX_WAVELENGTH) / self.size))

    @abstractmethod
    def arrange(self, sines: Tensor, cosines: Tensor) -> Tensor:
        """Lay out `[length, size / 2]` twice as `[length, size]`."""


class SinusoidalPositions(Waves):
    """Encodings that are added to the embeddings of tokens; `size` is d_model."""

    def forward(self, start: int, length: int) -> Tensor:
        """Give the encodings of positions start, start + 1, ... as `[length, d_model]`."""
        return self.rows(start, length)


class InterleavedPositions(SinusoidalPositions):
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) its cosine: the paper, 3.5."""

    def arrange(self, sines: Tensor, cosines: Tensor) -> Tensor:
        """Put each cosine after its sine."""
        return torch.stack((sines, cosines), dim=-1).flatten(-2)


class ConcatenatedPositions(SinusoidalPositions):
    """All sines, then all cosines, as in Tensor2Tensor's `get_timing_signal_1d`.

    Its frequencies reach 1 / 10000 exactly: 10000^(-i / (d_model / 2 - 1)).
    """

    def frequencies(self) -> Tensor:
        """Give 10000^(-i / (d_model / 2 - 1))."""
        waves = self.size // 2
        step = math.log(MAX_WAVELENGTH) / max(waves - 1, 1)
        return torch.exp(torch.arange(waves, dtype=torch.float64) * -step)

    def arrange(self, sines: Tensor, cosines: Tensor) -> Tensor:
        """Put the cosines after the sines."""
        return torch.cat((sines, cosines), dim=-1)


class RotaryPositions(Waves):
    """Turn queries and keys of self-attention by angles that grow with position (Su et al. 2021).

    Their product then depends on how far apart they are, not on where they stand. `size` is
    d_head; coordinates i and i + d_head / 2 form the pair that turns by 10000^(-2i / d_head) a
    position. The paper pairs neighbours, which is the same up to the order of the coordinates, but
    halves lie together in memory.
    """

    def forward(self, states: Tensor, start: int, length: int) -> Tensor:
        """Turn `[batch, heads, length, d_head]`, or all for one position when `length` is 1."""
        table = self.rows(start, length).to(states.dtype)
        sines, cosines = table.chunk(2, dim=-1)  # [length, d_head / 2]
        if states.device.type == "cpu" and not torch.compiler.is_compiling():
            turned: Tensor = Turn.apply(states, sines, cosines)  # type: ignore[no-untyped-call]
            return turned
        return turn(states, sines, cosines)

    def arrange(self, sines: Tensor, cosines: Tensor) -> Tensor:
        """Put the cosines after the sines."""
        return torch.cat((sines, cosines), dim=-1)


def turn(states: Tensor, sines: Tensor, cosines: Tensor) -> Tensor:
    """Turn each pair (x, y) of coordinates: (x cos - y sin, y cos + x sin)."""
    first, second = states.chunk(2, dim=-1)
    turned = (first * cosines - second * sines, second * cosines + first * sines)
    return torch.cat(turned, dim=-1)


class Turn(torch.autograd.Function):
    """The same in a quarter of the time on a CPU, where each operation goes through memory.

    Nothing but the angles is kept for the backward pass, which turns the gradient back.
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor, sines: Tensor, cosines: Tensor) -> Tensor:
        """Turn `[..., length, d_head]`."""
        ctx.save_for_backward(sines, cosines)
        return _turn_into(states, sines, cosines)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """Turn the gradient by the opposite angles."""
        sines, cosines = ctx.saved_tensors
        return _turn_into(gradient, -sines, cosines), None, None


def _turn_into(states: Tensor, sines: Tensor, cosines: Tensor) -> Tensor:
    turned = torch.empty_like(states)
    first, second = states.chunk(2, dim=-1)
    new_first, new_second = turned.chunk(2, dim=-1)
    torch.mul(first, cosines, out=new_first).addcmul_(second, sines, value=-1)
    torch.mul(second, cosines, out=new_second).addcmul_(first, sines)
    return turned


ADDED: dict[str, type[SinusoidalPositions]] = {
    "interleaved": InterleavedPositions,
    "concatenated": ConcatenatedPositions,
}
TURNING: dict[str, type[RotaryPositions]] = {"rotary": RotaryPositions}
POSITIONS = (*ADDED, *TURNING)
