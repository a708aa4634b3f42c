"""Copies of the weights, and their averages: of the last checkpoints, and exponential."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from hanyi.model.transformer import Transformer

Weights = dict[str, Tensor]

FIRST_DECAY = 10  # the decay after t updates is at most (1 + t) / (10 + t)


def snapshot(model: Transformer) -> Weights:
    """Copy the weights to the CPU; a tied weight is there once."""
    return {
        name: parameter.detach().to("cpu", copy=True)
        for name, parameter in model.named_parameters()
    }


def set_weights(model: Transformer, weights: Weights) -> None:
    """Copy weights into a model."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])


def average(checkpoints: Sequence[Weights]) -> Weights:
    """Give the mean of the weights, summed in double precision."""
    return {
        name: torch.stack([weights[name].double() for weights in checkpoints]).mean(0).float()
        for name in checkpoints[0]
    }


class MovingAverage:
    """The exponential moving average of the weights (Polyak and Juditsky 1992; Marian's smoothing).

    After each update the average moves to the weights by 1 - decay of the way. Early on the decay
    is smaller, so that the random weights of the start are soon forgotten. A decay of 0 keeps
    nothing: the average is the weights themselves.
    """

    def __init__(self, model: Transformer, decay: float) -> None:
        self.model = model
        self.decay = decay
        self._mean: list[Tensor] = []
        self.begin()

    def begin(self) -> None:
        """Start anew from the weights as they are."""
        if self.decay:
            self._mean = [weights.detach().clone() for weights in self.model.parameters()]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after update `step`, counted from where the average began."""
        if self.decay:
            decay = min(self.decay, (1 + step) / (FIRST_DECAY + step))
            torch._foreach_lerp_(self._mean, list(self.model.parameters()), 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Put the average into the model for a while, to judge it or to copy it."""
        if not self.decay:
            yield
            return
        own = [weights.detach().clone() for weights in self.model.parameters()]
        self._set(self._mean)
        try:
            yield
        finally:
            self._set(own)

    def to_list(self) -> list[Tensor]:
        """Give the average on the CPU, for the saved state."""
        return [mean.to("cpu") for mean in self._mean]

    def load(self, saved: Sequence[Tensor]) -> None:
        """Take what `to_list` gave."""
        for mean, values in zip(self._mean, saved, strict=True):
            mean.copy_(values)

    @torch.no_grad()
    def _set(self, values: Sequence[Tensor]) -> None:
        for weights, value in zip(self.model.parameters(), values, strict=True):
            weights.copy_(value)
