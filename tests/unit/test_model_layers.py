"""Layers equal PyTorch's with the same weights, both norms and all activations."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hanyi.model.attention import CrossAttention, SelfAttention
from hanyi.model.layers import (
    ACTIVATIONS,
    NORM_TYPES,
    NORMS,
    AddNorm,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    make_norm,
)
from hanyi.model.masks import additive, causal_mask, padding_mask
from tests.models import random_batch, tiny_config

THEIRS = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
# Shazeer 2020, (6): the function of the gate.
GATES = {
    "swiglu": lambda x: x * torch.sigmoid(x),
    "geglu": lambda x: x * (1 + torch.erf(x / 2**0.5)) / 2,
}


def test_each_activation_and_norm_is_compared() -> None:
    assert {*THEIRS, *GATES} == set(ACTIVATIONS)
    assert set(NORM_FORMULAS) == set(NORM_TYPES)


def copy_attention(ours: SelfAttention | CrossAttention, theirs: nn.MultiheadAttention) -> None:
    if isinstance(ours, SelfAttention):
        parts = [ours.query_key_value]
    else:
        parts = [ours.query, ours.key_value]
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def copy_rest(ours: EncoderLayer | DecoderLayer, theirs: nn.Module) -> None:
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    for number, add_norm in enumerate(ours.add_norms, start=1):
        getattr(theirs, f"norm{number}").load_state_dict(add_norm.norm.state_dict())


def randomise(module: nn.Module) -> None:
    for parameter in module.parameters():
        parameter.normal_(std=0.5)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("activation", THEIRS)
@torch.no_grad()
def test_encoder_layer(norm: str, activation: str) -> None:
    torch.manual_seed(0)
    ours = EncoderLayer(tiny_config(norm=norm, activation=activation)).eval()
    randomise(ours)
    theirs = nn.TransformerEncoderLayer(
        16, 4, 24, 0.0, THEIRS[activation], batch_first=True, norm_first=norm == "pre"
    )
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_rest(ours, theirs)
    src, _ = random_batch(0, batch=4, src_len=6, tgt_len=2)
    mask = padding_mask(src)
    states = torch.randn(4, 6, 16)
    expected = theirs(states, src_key_padding_mask=~mask[:, 0, 0])
    torch.testing.assert_close(ours(states, additive(mask)), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
@torch.no_grad()
def test_decoder_layer(norm: str) -> None:
    torch.manual_seed(1)
    ours = DecoderLayer(tiny_config(norm=norm)).eval()
    randomise(ours)
    theirs = nn.TransformerDecoderLayer(
        16, 4, 24, 0.0, F.relu, batch_first=True, norm_first=norm == "pre"
    )
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    copy_rest(ours, theirs)
    src, _ = random_batch(1, batch=4, src_len=6, tgt_len=2)
    padding, causal = padding_mask(src), causal_mask(5, src.device)
    states, memory = torch.randn(4, 5, 16), torch.randn(4, 6, 16)
    expected = theirs(
        states, memory, tgt_mask=~causal[0, 0], memory_key_padding_mask=~padding[:, 0, 0]
    )
    found = ours(states, memory, additive(causal), additive(padding))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_post_norm_comes_last_and_pre_norm_first() -> None:
    states = 5 + 3 * torch.randn(2, 3, 16)
    pre, post = (AddNorm(tiny_config(norm=norm)) for norm in ("pre", "post"))
    normed = F.layer_norm(states, (16,))
    torch.testing.assert_close(pre(states, lambda x: 2 * x), states + 2 * normed)
    torch.testing.assert_close(post(states, lambda x: 2 * x), F.layer_norm(3 * states, (16,)))


@pytest.mark.parametrize("name", GATES)
@torch.no_grad()
def test_gated_feed_forward_is_the_formula(name: str) -> None:
    torch.manual_seed(3)
    network = FeedForward(tiny_config(activation=name))
    randomise(network)
    states = torch.randn(2, 5, 16)
    # (act(x W + b) * (x V + c)) W_2 + b_2, W and V in one product
    w, v = network.inner.weight[:24], network.inner.weight[24:]
    b, c = network.inner.bias[:24], network.inner.bias[24:]
    gated = GATES[name](states @ w.T + b) * (states @ v.T + c)
    expected = gated @ network.outer.weight.T + network.outer.bias
    torch.testing.assert_close(network(states), expected, rtol=1e-4, atol=1e-4)
    assert network.outer.in_features == 24  # d_ff is the width after the gate


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight + bias


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:  # Zhang and Sennrich 2019, (4)
    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight


NORM_FORMULAS = {"layer_norm": layer_norm, "rms_norm": rms_norm}


@pytest.mark.parametrize("name", NORM_TYPES)
@torch.no_grad()
def test_norms_are_their_formulas(name: str) -> None:
    torch.manual_seed(4)
    norm = make_norm(tiny_config(norm_type=name))
    randomise(norm)
    states = 2 + 3 * torch.randn(4, 5, 16)
    torch.testing.assert_close(norm(states), NORM_FORMULAS[name](states, *norm.parameters()))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_keep_gradients_right(activation: str) -> None:
    torch.manual_seed(2)
    network = FeedForward(tiny_config(activation=activation)).double()
    states = torch.randn(3, 16, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(network, (states,))
