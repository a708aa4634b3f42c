"""Encoder and decoder layers (Vaswani et al. 2017, 3.1), Add & Norm, feed-forward (3.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from hanyi.model.attention import CrossAttention, SelfAttention
from hanyi.model.dropout import Dropout

if TYPE_CHECKING:
    from hanyi.model.cache import LayerCache
    from hanyi.model.config import ModelConfig

NORMS = ("pre", "post")
# In place where the backward pass needs no more than the result.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu_,
    "gelu": F.gelu,
    "silu": F.silu,
}


class AddNorm(nn.Module):
    """Wrap a sublayer in a residual connection, dropout and layer normalisation (3.1, 5.4).

    post, as in the paper: norm(x + dropout(sublayer(x))). pre: x + dropout(sublayer(norm(x))),
    which trains without trouble at any depth and warm-up, and needs one more norm at the end of the
    stack.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(self, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply the sublayer to `[batch, length, d_model]`."""
        if self.pre:
            added: Tensor = states + self.dropout(sublayer(self.norm(states)))
            return added
        normed: Tensor = self.norm(states + self.dropout(sublayer(states)))
        return normed


class FeedForward(nn.Module):
    """Apply one network to each position: activation(x W_1 + b_1) W_2 + b_2 (3.3)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, states: Tensor) -> Tensor:
        """Map `[batch, length, d_model]` to the same shape."""
        mapped: Tensor = self.outer(self.activation(self.inner(states)))
        return mapped


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(
            config.d_model, config.heads, config.attention_dropout, config.attention
        )
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
        sizes = (config.d_model, config.heads, config.attention_dropout, config.attention)
        self.self_attention = SelfAttention(*sizes)
        self.cross_attention = CrossAttention(*sizes)
        self.feed_forward = FeedForward(config)
        self.add_norms = nn.ModuleList(AddNorm(config) for _ in range(3))

    def forward(self, states: Tensor, memory: Tensor, causal: Tensor, padding: Tensor) -> Tensor:
        """Map `[batch, tgt_len, d_model]` to the same shape, with a bias for either attention."""
        states = self.add_norms[0](states, lambda x: self.self_attention(x, causal))
        states = self.add_norms[1](states, lambda x: self.cross_attention(x, memory, padding))
        mapped: Tensor = self.add_norms[2](states, self.feed_forward)
        return mapped

    def step(self, states: Tensor, cache: LayerCache, padding: Tensor) -> Tensor:
        """Do the same for the newest token of each beam, `[batch, beams, d_model]`.

        In cross-attention the beams of a sentence stand where positions stood, so that they share
        its keys and values.
        """
        states = self.add_norms[0](states, lambda x: self.self_attention.step(x, cache))
        states = self.add_norms[1](
            states,
            lambda x: self.cross_attention.read(x, cache.cross_keys, cache.cross_values, padding),
        )
        mapped: Tensor = self.add_norms[2](states, self.feed_forward)
        return mapped
