"""Dropout: the right share, the right scale, drawn from torch's generator, off when translating."""

from __future__ import annotations

import pytest
import torch

from hanyi.model.dropout import Dropout


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.93])
def test_share_scale_and_gradient(probability: float) -> None:
    torch.manual_seed(0)
    states = torch.ones(300, 333, requires_grad=True)  # a count that is no multiple of four
    dropped = Dropout(probability)(states)
    kept = dropped != 0
    share = 1 - kept.float().mean().item()
    deviation = (probability * (1 - probability) / states.numel()) ** 0.5
    assert abs(share - probability) < 5 * deviation
    torch.testing.assert_close(dropped[kept], torch.full_like(dropped[kept], 1 / (1 - probability)))
    dropped.sum().backward()
    assert states.grad is not None
    assert torch.equal(states.grad, dropped)


def test_neighbours_are_independent() -> None:
    torch.manual_seed(0)
    kept = (Dropout(0.5)(torch.ones(1 << 16)) != 0).view(-1, 4).float()
    correlation = torch.corrcoef(kept.T) - torch.eye(4)
    assert correlation.abs().max() < 0.04  # 5 standard deviations


def test_follows_the_seed() -> None:
    dropout, states = Dropout(0.3), torch.ones(1000)
    torch.manual_seed(1)
    first, second = dropout(states), dropout(states)
    torch.manual_seed(1)
    assert torch.equal(dropout(states), first)
    assert not torch.equal(first, second)


def test_identity_outside_training_and_at_zero() -> None:
    states = torch.randn(5)
    assert Dropout(0.9).eval()(states) is states
    assert Dropout(0.0)(states) is states
    empty = torch.ones(0, 3)
    assert Dropout(0.5)(empty).shape == (0, 3)
