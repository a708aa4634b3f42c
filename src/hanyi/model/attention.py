"""Scaled dot-product and multi-head attention (Vaswani et al. 2017, 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (the name that every PyTorch reader knows)

if TYPE_CHECKING:
    from hanyi.model.cache import LayerCache

# auto: by device. PyTorch's fused kernels win on CUDA; on the CPU their backward is slow at
# sentence lengths.
FORMS = ("auto", "explicit", "fused")


def explicit_attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Compute softmax(QKᵀ/√d_k)V, and give the weights too (3.2.1).

    Query is `[batch, heads, q_len, d_head]`, key and value `[batch, heads, k_len, d_head]`; the
    bias is added to the scores and broadcasts to `[batch, heads, q_len, k_len]`, the shape of the
    weights.
    """
    scale = query.size(-1) ** -0.5
    scores = query @ key.transpose(-2, -1)  # [batch, heads, q_len, k_len]
    scores = scores * scale if bias is None else torch.add(bias, scores, alpha=scale)
    weights = scores.softmax(dim=-1)
    dropped = F.dropout(weights, dropout) if dropout else weights
    return dropped.to(value.dtype) @ value, weights  # [batch, heads, q_len, d_head]


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, dropout: float = 0.0
) -> Tensor:
    """Compute the same with PyTorch's kernels, which never form the weights."""
    if bias is not None:
        bias = bias.to(query.dtype)
    return F.scaled_dot_product_attention(query, key, value, bias, dropout_p=dropout)


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_h) W^O (3.2.2).

    The subclasses say where queries, keys and values come from.
    """

    def __init__(self, d_model: int, heads: int, dropout: float, form: str) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.form = form
        self.output = nn.Linear(d_model, d_model)
        self.keep_weights = False
        # [batch, heads, q_len, k_len] of the last pass, when they are kept
        self.weights: Tensor | None = None

    def split(self, states: Tensor, parts: int) -> tuple[Tensor, ...]:
        """Cut `[batch, length, parts * d_model]` into parts of `[batch, heads, length, d_head]`."""
        batch, length, _ = states.shape
        pieces = states.view(batch, length, parts, self.heads, -1)
        return pieces.permute(2, 0, 3, 1, 4).unbind()

    def attend(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> Tensor:
        """Attend in each head, then join the heads: `[batch, q_len, d_model]`."""
        dropout = self.dropout if self.training else 0.0
        if self.keep_weights:
            heads, self.weights = explicit_attention(query, key, value, bias, dropout)
        elif self.form == "fused" or (self.form == "auto" and query.is_cuda):
            heads = fused_attention(query, key, value, bias, dropout)
        else:
            heads, _ = explicit_attention(query, key, value, bias, dropout)
        joined: Tensor = self.output(heads.transpose(1, 2).flatten(2))  # [batch, q_len, d_model]
        return joined


class SelfAttention(MultiHeadAttention):
    """Queries, keys and values from one sequence, projected in a single product."""

    def __init__(self, d_model: int, heads: int, dropout: float, form: str) -> None:
        super().__init__(d_model, heads, dropout, form)
        self.query_key_value = nn.Linear(d_model, 3 * d_model)

    def forward(self, states: Tensor, bias: Tensor) -> Tensor:
        """Let every position of `[batch, length, d_model]` attend to those that the bias leaves."""
        query, key, value = self.split(self.query_key_value(states), 3)
        return self.attend(query, key, value, bias)

    def step(self, states: Tensor, cache: LayerCache) -> Tensor:
        """Let the newest position of each beam, `[batch, beams, d_model]`, attend to all so far."""
        batch, beams, d_model = states.shape
        rows = states.view(batch * beams, 1, d_model)
        query, key, value = self.split(self.query_key_value(rows), 3)
        keys, values = cache.append(key, value)  # [rows, heads, length, d_head]
        return self.attend(query, keys, values, None).view(batch, beams, d_model)


class CrossAttention(MultiHeadAttention):
    """Queries from the decoder; keys and values from the encoder's output, the memory."""

    def __init__(self, d_model: int, heads: int, dropout: float, form: str) -> None:
        super().__init__(d_model, heads, dropout, form)
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * d_model)

    def forward(self, states: Tensor, memory: Tensor, bias: Tensor) -> Tensor:
        """Let `[batch, tgt_len, d_model]` attend to the memory `[batch, src_len, d_model]`."""
        return self.read(states, *self.keys_values(memory), bias)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Project the memory, once for each sentence: twice `[batch, heads, src_len, d_head]`."""
        keys, values = self.split(self.key_value(memory), 2)
        return keys, values

    def read(self, states: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
        """Attend to keys and values that are there already."""
        (query,) = self.split(self.query(states), 1)
        return self.attend(query, keys, values, bias)
