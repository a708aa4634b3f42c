"""Encoder and decoder layers (Vaswani et al. 2017, 3.1), Add & Norm, feed-forward (3.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from hanyi.model.attention import CrossAttention, SelfAttention
from hanyi.model.dropout import Dropout

if TYPE_CHECKING:
    from hanyi.model.cache import LayerCache
    from hanyi.model.config import ModelConfig

NORMS = ("pre", "post")
# RMSNorm (Zhang and Sennrich 2019) divides by the root mean square; it takes no mean away and adds
# no bias.
NORM_TYPES: dict[str, Callable[..., nn.Module]] = {
    "layer_norm": nn.LayerNorm,
    "rms_norm": nn.RMSNorm,
}
NORM_EPSILON = 1e-5  # added to the variance or the mean square


class Activation(NamedTuple):
    """What stands between the two products of a feed-forward layer."""

    function: Callable[[Tensor], Tensor]
    gated: bool = False  # function(x W_1 + b_1) times x V + c, before W_2 (Shazeer 2020)


# In place where the backward pass needs no more than the result.
ACTIVATIONS = {
    "relu": Activation(torch.relu_),
    "gelu": Activation(F.gelu),
    "silu": Activation(F.silu),
    "swiglu": Activation(F.silu, gated=True),
    "geglu": Activation(F.gelu, gated=True),
}


def make_norm(config: ModelConfig) -> nn.Module:
    """Make a norm over the last dimension, d_model."""
    return NORM_TYPES[config.norm_type](config.d_model, eps=NORM_EPSILON)


class AddNorm(nn.Module):
    """Wrap a sublayer in a residual connection, dropout and normalisation (3.1, 5.4).

    post, as in the paper: norm(x + dropout(sublayer(x))). pre: x + dropout(sublayer(norm(x))),
    which trains without trouble at any depth and warm-up, and needs one more norm at the end of the
    stack.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = make_norm(config)
        self.dropout = Dropout(config.dropout)

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply the sublayer to `[batch, length, d_model]`."""
        if self.pre:
            added: Tensor = states + self.dropout(sublayer(self.norm(states)))
            return added
        normed: Tensor = self.norm(states + self.dropout(sublayer(states)))
        return normed


class FeedForward(nn.Module):
    """Apply one network to each position: activation(x W_1 + b_1) W_2 + b_2 (3.3).

    Gated, it has a third matrix as large as the others, V, whose product stands beside that of W_1.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.function, self.gated = ACTIVATIONS[config.activation]
        self.inner = nn.Linear(config.d_model, config.d_ff * (2 if self.gated else 1))
        self.outer = nn.Linear(config.d_ff, config.d_model)

    def forward(self, states: Tensor) -> Tensor:
        """Map `[batch, length, d_model]` to the same shape."""
        inner = self.inner(states)
        if self.gated:
            gate, value = inner.chunk(2, dim=-1)  # [batch, length, d_ff] each
            inner = self.function(gate) * value
        else:
            inner = self.function(inner)
        mapped: Tensor = self.outer(inner)
        return mapped


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config)
        self.feed_forward = FeedForward(config)
        self.add_norms = nn.ModuleList(AddNorm(config) for _ in range(2))

    def forward(self, states: Tensor, bias: Tensor) -> Tensor:
        """Map `[batch, src_len, d_model]` to the same shape."""
        states = self.add_norms[0](states, lambda x: self.self_attention(x, bias))
        mapped: Tensor = self.add_norms[1](states, self.feed_forward)
        return mapped


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention to the memory, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config)
        self.cross_attention = CrossAttention(config)
        self.feed_forward = FeedForward(config)
        self.add_norms = nn.ModuleList(AddNorm(config) for _ in range(3))

    def forward(self, states: Tensor, memory: Tensor, causal: Tensor, padding: Tensor) -> Tensor:
        """Map `[batch, tgt_len, d_model]` to the same shape, with a bias for either attention."""
        states = self.add_norms[0](states, lambda x: self.self_attention(x, causal))
        states = self.add_norms[1](states, lambda x: self.cross_attention(x, memory, padding))
        mapped: Tensor = self.add_norms[2](states, self.feed_forward)
        return mapped

    def step(
        self,
        states: Tensor,
        cache: LayerCache,
        position: int,
        paths: Tensor | None,
        padding: Tensor,
    ) -> Tensor:
        """Do the same for the newest token of each beam, `[batch, beams, d_model]`.

        The beams of a sentence stand where positions stood, so that they share the keys and values
        of cross-attention, and each finds its own history in self-attention by the bias `paths`.
        """
        states = self.add_norms[0](
            states, lambda x: self.self_attention.step(x, cache, position, paths)
        )
        states = self.add_norms[1](
            states,
            lambda x: self.cross_attention.read(x, cache.cross_keys, cache.cross_values, padding),
        )
        mapped: Tensor = self.add_norms[2](states, self.feed_forward)
        return mapped
