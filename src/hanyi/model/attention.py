"""Scaled dot-product and multi-head attention (Vaswani et al. 2017, 3.2).

Keys and values may have fewer heads than queries: each serves a group of heads (grouped-query
attention, Ainslie et al. 2023; a single one is multi-query attention, Shazeer 2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (the name that every PyTorch reader knows)

from hanyi.model.positions import TURNING

if TYPE_CHECKING:
    from hanyi.model.cache import LayerCache
    from hanyi.model.config import ModelConfig

# auto: by device. PyTorch's fused kernels win on CUDA; on the CPU their backward is slow at
# sentence lengths.
FORMS = ("auto", "explicit", "fused")


def explicit_attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Compute softmax(QKᵀ/√d_k)V, and give the weights too (3.2.1).

    Query is `[batch, heads, q_len, d_head]`, key and value `[batch, groups, k_len, d_head]`, where
    `groups` divides `heads`; the bias is added to the scores and broadcasts to
    `[batch, heads, q_len, k_len]`, the shape of the weights.
    """
    scale = query.size(-1) ** -0.5
    scores = _by_group(query, key.transpose(-2, -1))  # [batch, heads, q_len, k_len]
    scores = scores * scale if bias is None else torch.add(bias, scores, alpha=scale)
    weights = scores.softmax(dim=-1)
    dropped = F.dropout(weights, dropout) if dropout else weights
    return _by_group(dropped.to(value.dtype), value), weights  # [batch, heads, q_len, d_head]


def _by_group(left: Tensor, right: Tensor) -> Tensor:
    """Multiply each head of `left` by the head of `right` that serves its group."""
    if left.size(1) == right.size(1):
        return left @ right
    # The heads of a group stand where rows stood, so that nothing is copied for each of them.
    batch, heads, rows, columns = left.shape
    product = left.reshape(batch, right.size(1), -1, columns) @ right
    return product.view(batch, heads, rows, -1)


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, dropout: float = 0.0
) -> Tensor:
    """Compute the same with PyTorch's kernels, which never form the weights."""
    if bias is not None:
        bias = bias.to(query.dtype)
    group = query.size(1) // key.size(1)
    if group > 1:  # `enable_gqa` has no fast kernel that takes a bias, so keys are repeated
        key, value = (kept.repeat_interleave(group, dim=1) for kept in (key, value))
    return F.scaled_dot_product_attention(query, key, value, bias, dropout_p=dropout)


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_h) W^O (3.2.2).

    The subclasses say where queries, keys and values come from.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.groups = config.groups
        self.d_head = config.d_head
        self.dropout = config.attention_dropout
        self.form = config.attention
        self.output = nn.Linear(config.d_model, config.d_model)
        self.keep_weights = False
        # [batch, heads, q_len, k_len] of the last pass, when they are kept
        self.weights: Tensor | None = None

    def split(self, states: Tensor, *heads: int) -> tuple[Tensor, ...]:
        """Cut `[batch, length, sum(heads) * d_head]` into `[batch, heads, length, d_head]` each."""
        batch, length, _ = states.shape
        pieces = states.view(batch, length, -1, self.d_head).transpose(1, 2)
        return pieces.split_with_sizes(heads, dim=1)

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

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.widths = [count * self.d_head for count in (self.heads, self.groups, self.groups)]
        self.query_key_value = nn.Linear(config.d_model, sum(self.widths))
        turning = TURNING.get(config.positions)
        self.turn = turning(self.d_head) if turning else None

    def forward(self, states: Tensor, bias: Tensor) -> Tensor:
        """Let every position of `[batch, length, d_model]` attend to those that the bias leaves."""
        return self.attend(*self.project(states, 0), bias)

    def project(
        self, states: Tensor, start: int, length: int | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Give queries, keys and values of `length` positions from `start`, or all of one.

        They are `[batch, heads, length, d_head]` and twice `[batch, groups, length, d_head]`.
        """
        joint = self.query_key_value(states)
        query, key, value = self.split(joint, self.heads, self.groups, self.groups)
        if self.turn is not None:
            length = states.size(1) if length is None else length
            query, key = self.turn(query, start, length), self.turn(key, start, length)
        return query, key, value

    def step(
        self, states: Tensor, cache: LayerCache, position: int, paths: Tensor | None
    ) -> Tensor:
        """Let the newest node of each beam, `[batch, beams, d_model]`, attend to its path."""
        query, key, value = self.project(states, position, length=1)
        return self.attend(query, *cache.append(key, value), paths)


class CrossAttention(MultiHeadAttention):
    """Queries from the decoder; keys and values from the encoder's output, the memory."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.query = nn.Linear(config.d_model, config.d_model)
        self.key_value = nn.Linear(config.d_model, 2 * self.groups * self.d_head)

    def forward(self, states: Tensor, memory: Tensor, bias: Tensor) -> Tensor:
        """Let `[batch, tgt_len, d_model]` attend to the memory `[batch, src_len, d_model]`."""
        return self.read(states, *self.keys_values(memory), bias)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Project the memory, once for each sentence: twice `[batch, groups, src_len, d_head]`."""
        keys, values = self.split(self.key_value(memory), self.groups, self.groups)
        return keys, values

    def read(self, states: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
        """Attend to keys and values that are there already."""
        (query,) = self.split(self.query(states), self.heads)
        return self.attend(query, keys, values, bias)
