"""Products in 8 bits: how near they are, and that rows do not touch each other."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

from hanyi.errors import ParamsError
from hanyi.model import quantized
from hanyi.model.quantized import BACKEND, QuantizedLinear, quantize
from tests.models import random_batch, tiny_model

pytestmark = pytest.mark.skipif(
    BACKEND not in torch.backends.quantized.supported_engines, reason=f"no {BACKEND} here"
)
HALF_STEPS = 1 / (2 * quantized.MOST_WEIGHT) + 1 / (2 * quantized.MOST_ACTIVATION)


@torch.no_grad()
@pytest.mark.parametrize("bias", [True, False])
def test_rounding_is_all_that_differs(bias: bool) -> None:
    torch.manual_seed(1)
    linear = nn.Linear(32, 16, bias=bias)
    states = torch.randn(3, 5, 32) * torch.logspace(-3, 3, 5)[:, None]
    found, expected = QuantizedLinear(linear)(states), linear(states)
    # Each factor is off by half a step at most, a step being a part of the largest of its row.
    largest = states.abs().amax(-1, keepdim=True) * linear.weight.abs().amax(1)
    assert ((found - expected).abs() <= 32 * largest * (HALF_STEPS + HALF_STEPS**2)).all()
    assert (found - expected).norm() < 0.03 * expected.norm()


@torch.no_grad()
def test_the_largest_numbers_of_all_do_not_overflow() -> None:
    linear = nn.Linear(64, 4, bias=False)
    linear.weight.fill_(1.0)
    states = torch.ones(2, 64)
    torch.testing.assert_close(QuantizedLinear(linear)(states), torch.full((2, 4), 64.0))
    torch.testing.assert_close(QuantizedLinear(linear)(-states), torch.full((2, 4), -64.0))


@torch.no_grad()
def test_a_row_does_not_depend_on_the_others() -> None:
    torch.manual_seed(2)
    layer = QuantizedLinear(nn.Linear(64, 40))
    states = torch.randn(7, 64) * torch.logspace(-2, 2, 7)[:, None]
    states[3] = 0
    alone = torch.cat([layer(row[None]) for row in states])
    assert torch.equal(layer(states), alone)
    assert torch.equal(alone[3], layer.bias)


@torch.no_grad()
def test_a_model_with_small_layers_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model()
    src, tgt = random_batch(1, batch=3, src_len=6, tgt_len=5)
    expected = model(src, tgt).log_softmax(-1)
    quantize(model)
    assert torch.equal(model(src, tgt).log_softmax(-1), expected)
    monkeypatch.setattr(quantized, "WORTH_IT", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quantize(model)
    assert not any(isinstance(module, nn.Linear) for module in model.modules())
    found = model(src, tgt).log_softmax(-1)
    assert 0 < (found - expected).abs().max() < 0.2


def test_where_there_are_no_such_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantized, "BACKEND", "none of them")
    with pytest.raises(ParamsError, match="quantization"):
        quantize(tiny_model())
