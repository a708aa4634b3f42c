"""Watching the gradients: an update that would spoil the weights is skipped and counted."""

from __future__ import annotations

import torch
from torch import Tensor

DECAY = 0.99  # of the running mean of the gradient norm
FIRST = 100  # updates before their mean is trusted


class Guard:
    """Decides on the device, so that nobody waits for it, which updates are skipped."""

    def __init__(self, spike: float, device: torch.device) -> None:
        """Skip gradients that are no numbers, and norms over `spike` times their running mean.

        A `spike` of 0 leaves all finite norms alone.
        """
        self.spike = spike
        self._mean = torch.zeros((), device=device)
        self._seen = torch.zeros((), device=device)  # updates that were not skipped
        self._skipped = torch.zeros((), device=device)
        self._in_a_row = torch.zeros((), device=device)

    def begin(self) -> None:
        """Forget the norms so far, which other data do not share."""
        self._mean = torch.zeros_like(self._mean)
        self._seen = torch.zeros_like(self._seen)

    def skips(self, norm: Tensor) -> Tensor:
        """Give 1.0 if the update with a gradient of this norm is to be skipped, else 0.0."""
        bad = ~norm.isfinite()
        if self.spike:
            bad |= (self._seen >= FIRST) & (norm > self.spike * self._mean)
        sound = (~bad).to(norm.dtype)
        self._seen += sound
        weight = torch.clamp(1 / self._seen.clamp(min=1), min=1 - DECAY) * sound
        self._mean = torch.where(bad, self._mean, torch.lerp(self._mean, norm, weight))
        self._skipped += 1 - sound
        self._in_a_row = (self._in_a_row + 1) * (1 - sound)
        return 1 - sound

    def counts(self) -> tuple[int, int]:
        """Give how many updates were skipped, and how many of them are the last ones in a row."""
        skipped, in_a_row = torch.stack((self._skipped, self._in_a_row)).tolist()
        return int(skipped), int(in_a_row)

    def forgive(self) -> None:
        """Begin a new row of skipped updates."""
        self._in_a_row = torch.zeros_like(self._in_a_row)

    def to_tensor(self) -> Tensor:
        """Give all that is remembered, `[4]`, for the saved state."""
        return torch.stack((self._mean, self._seen, self._skipped, self._in_a_row)).to("cpu")

    def load(self, saved: Tensor) -> None:
        """Take what `to_tensor` gave."""
        self._mean, self._seen, self._skipped, self._in_a_row = saved.to(self._mean).unbind()
