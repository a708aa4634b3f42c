"""Attention equals PyTorch's own, in value and in gradient."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hanyi.model.attention import (
    CrossAttention,
    SelfAttention,
    explicit_attention,
    fused_attention,
)
from hanyi.model.config import ModelConfig
from hanyi.model.masks import additive, causal_mask, padding_mask
from hanyi.model.positions import RotaryPositions
from hanyi.tokens.vocab import PAD
from tests.models import tiny_config

BATCH, HEADS, Q_LEN, K_LEN, D_HEAD = 3, 4, 5, 6, 8
D_MODEL = HEADS * D_HEAD


def sizes(form: str = "explicit", **changes: Any) -> ModelConfig:
    return tiny_config(d_model=D_MODEL, heads=HEADS, attention=form, **changes)


def inputs(seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    torch.manual_seed(seed)
    query = torch.randn(BATCH, HEADS, Q_LEN, D_HEAD, requires_grad=True)
    key = torch.randn(BATCH, HEADS, K_LEN, D_HEAD, requires_grad=True)
    value = torch.randn(BATCH, HEADS, K_LEN, D_HEAD, requires_grad=True)
    mask = torch.rand(BATCH, 1, Q_LEN, K_LEN) < 0.7
    mask[..., 0] = True
    return query, key, value, mask


@pytest.mark.parametrize("masked", [True, False])
def test_both_forms_equal_pytorch(masked: bool) -> None:
    query, key, value, mask = inputs()
    bias = additive(mask) if masked else None
    expected = F.scaled_dot_product_attention(query, key, value, mask if masked else None)
    explicit, weights = explicit_attention(query, key, value, bias)
    fused = fused_attention(query, key, value, bias)
    torch.testing.assert_close(explicit, expected)
    torch.testing.assert_close(fused, expected)
    torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH, HEADS, Q_LEN))
    if masked:
        assert (weights.masked_select(~mask.expand_as(weights)) == 0).all()
    gradients = [
        torch.autograd.grad(one.square().sum(), (query, key, value))
        for one in (expected, explicit, fused)
    ]
    for found in gradients[1:]:
        torch.testing.assert_close(found, gradients[0], rtol=1e-4, atol=1e-5)


def test_the_formula_by_hand() -> None:
    query = torch.tensor([[[[2.0, 0.0]]]])
    key = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    value = torch.tensor([[[[1.0], [3.0]]]])
    output, weights = explicit_attention(query, key, value, None)
    score = 2 / 2**0.5
    first = torch.tensor(score).exp() / (torch.tensor(score).exp() + 1)
    torch.testing.assert_close(weights.flatten(), torch.stack((first, 1 - first)))
    torch.testing.assert_close(output.flatten(), (first + 3 * (1 - first)).reshape(1))


def test_dropout_falls_on_the_weights() -> None:
    query, key, _, _ = inputs()
    eye = torch.eye(K_LEN).expand(BATCH, HEADS, K_LEN, K_LEN)  # so that the output is the weights
    torch.manual_seed(0)
    output, weights = explicit_attention(query, key, eye, None, dropout=0.5)
    kept = output != 0
    assert 0.3 < kept.float().mean() < 0.7
    torch.testing.assert_close(output[kept], 2 * weights[kept])


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("masked", [True, False])
def test_a_head_of_keys_and_values_serves_its_group(groups: int, masked: bool) -> None:
    query, key, value, mask = inputs()
    key, value = key[:, :groups], value[:, :groups]
    bias = additive(mask) if masked else None
    # Ainslie et al. 2023, 2.2: head i looks up the keys and values of group i // (heads / groups).
    serving = [head // (HEADS // groups) for head in range(HEADS)]
    expected, shown = explicit_attention(query, key[:, serving], value[:, serving], bias)
    found, weights = explicit_attention(query, key, value, bias)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(weights, shown)
    torch.testing.assert_close(fused_attention(query, key, value, bias), expected)


@pytest.mark.parametrize("groups", [1, 2])
def test_groups_are_projected_to_fewer_heads(groups: int) -> None:
    attention = SelfAttention(sizes(key_value_heads=groups))
    assert attention.query_key_value.out_features == D_MODEL + 2 * groups * D_HEAD
    query, key, value = attention.project(torch.randn(BATCH, Q_LEN, D_MODEL), 0)
    assert query.shape == (BATCH, HEADS, Q_LEN, D_HEAD)
    assert key.shape == value.shape == (BATCH, groups, Q_LEN, D_HEAD)
    cross = CrossAttention(sizes(key_value_heads=groups))
    keys, values = cross.keys_values(torch.randn(BATCH, K_LEN, D_MODEL))
    assert keys.shape == values.shape == (BATCH, groups, K_LEN, D_HEAD)


def test_rotary_turns_queries_and_keys_but_not_values() -> None:
    states = torch.randn(BATCH, Q_LEN, D_MODEL)
    torch.manual_seed(0)
    turned = SelfAttention(sizes(positions="rotary"))
    torch.manual_seed(0)
    plain = SelfAttention(sizes())
    cross = CrossAttention(sizes(positions="rotary"))
    rotary = RotaryPositions(D_HEAD)
    query, key, value = plain.project(states, 0)
    expected = (rotary(query, 7, Q_LEN), rotary(key, 7, Q_LEN), value)
    for one, other in zip(turned.project(states, 7), expected, strict=True):
        torch.testing.assert_close(one, other)
    assert not any(isinstance(module, RotaryPositions) for module in cross.modules())


def reference(attention: Any) -> nn.MultiheadAttention:
    """Build PyTorch's module with the same weights."""
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True).eval()
    if isinstance(attention, SelfAttention):
        weight, bias = attention.query_key_value.weight, attention.query_key_value.bias
    else:
        weight = torch.cat((attention.query.weight, attention.key_value.weight))
        bias = torch.cat((attention.query.bias, attention.key_value.bias))
    with torch.no_grad():
        theirs.in_proj_weight.copy_(weight)
        theirs.in_proj_bias.copy_(bias)
        theirs.out_proj.weight.copy_(attention.output.weight)
        theirs.out_proj.bias.copy_(attention.output.bias)
    return theirs


@pytest.mark.parametrize("form", ["auto", "explicit", "fused"])
def test_self_attention_equals_multihead_attention(form: str) -> None:
    torch.manual_seed(1)
    attention = SelfAttention(sizes(form)).eval()
    nn.init.normal_(attention.query_key_value.bias)
    states = torch.randn(BATCH, Q_LEN, D_MODEL)
    mask = causal_mask(Q_LEN, states.device)
    expected, _ = reference(attention)(states, states, states, attn_mask=~mask[0, 0])
    torch.testing.assert_close(attention(states, additive(mask)), expected)


@pytest.mark.parametrize("form", ["auto", "explicit", "fused"])
def test_cross_attention_equals_multihead_attention(form: str) -> None:
    torch.manual_seed(2)
    attention = CrossAttention(sizes(form)).eval()
    nn.init.normal_(attention.key_value.bias)
    states, memory = torch.randn(BATCH, Q_LEN, D_MODEL), torch.randn(BATCH, K_LEN, D_MODEL)
    tokens = torch.full((BATCH, K_LEN), 9)
    tokens[1, 4:] = PAD
    mask = padding_mask(tokens)
    expected, weights = reference(attention)(
        states, memory, memory, key_padding_mask=tokens == PAD, average_attn_weights=False
    )
    torch.testing.assert_close(attention(states, memory, additive(mask)), expected)
    attention.keep_weights = True
    attention(states, memory, additive(mask))
    assert attention.weights is not None
    torch.testing.assert_close(attention.weights, weights)


def test_dropout_only_in_training() -> None:
    torch.manual_seed(3)
    attention = SelfAttention(sizes(attention_dropout=0.5))
    states = torch.randn(BATCH, Q_LEN, D_MODEL)
    bias = additive(causal_mask(Q_LEN, states.device))
    assert not torch.equal(attention(states, bias), attention(states, bias))
    attention.eval()
    assert torch.equal(attention(states, bias), attention(states, bias))
