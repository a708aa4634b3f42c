"""Other ways to compute a training step, for `benchmarks.steps`: each changes one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from hanyi.model import attention
from hanyi.model.attention import CrossAttention, SelfAttention
from hanyi.model.dropout import Dropout
from hanyi.model.layers import AddNorm
from hanyi.model.masks import additive, causal_mask, padding_mask
from hanyi.model.transformer import Embedding, Transformer
from hanyi.tokens.vocab import PAD
from hanyi.training.data import Tensors
from hanyi.training.loss import output_loss, sequence_loss

SMOOTHING = 0.1


def as_it_is(model: Transformer, batch: Tensors) -> Tensor:
    """Give the loss of hanyi.training.loss."""
    return sequence_loss(model, batch, SMOOTHING).total


def plain_loss(model: Transformer, batch: Tensors) -> Tensor:
    """Give PyTorch's loss on every position, PAD ignored."""
    logits = model(batch.src, batch.tgt_in).flatten(0, 1)
    targets = batch.tgt_out.flatten()
    return F.cross_entropy(
        logits, targets, label_smoothing=SMOOTHING, ignore_index=PAD, reduction="sum"
    )


def real_tokens_loss(model: Transformer, batch: Tensors) -> Tensor:
    """Give PyTorch's loss on real tokens only."""
    hidden = model.decode(batch.tgt_in, model.encode(batch.src)).flatten(0, 1)
    logits = model.output(hidden.index_select(0, batch.real))
    targets = batch.tgt_out.flatten()[batch.real]
    return F.cross_entropy(logits, targets, label_smoothing=SMOOTHING, reduction="sum")


class _Spread(torch.autograd.Function):
    """Puts rows `[tokens, width]` at their places among `size` rows, zeros elsewhere."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, places: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(places)
        return rows.new_zeros(size, rows.size(1)).index_copy_(0, places, rows)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient.index_select(0, ctx.saved_tensors[0]), None, None


class _Gather(torch.autograd.Function):
    """Takes rows from their places: the opposite of `_Spread`."""

    @staticmethod
    def forward(ctx: Any, padded: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.size = len(padded)
        return padded.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        rows = gradient.new_zeros(ctx.size, gradient.size(1))
        return rows.index_copy_(0, ctx.saved_tensors[0], gradient), None


class _Side:
    """The real tokens of source or target, and where they stand."""

    def __init__(self, ids: Tensor, places: Tensor) -> None:
        self.batch, self.length = ids.shape
        self.places = places
        self.ids = ids.flatten().index_select(0, places)

    def embed(self, embedding: Embedding) -> Tensor:
        states = embedding.tokens(self.ids)
        positions = embedding.positions(0, self.length)[self.places % self.length]
        embedded: Tensor = embedding.dropout(torch.add(positions, states, alpha=embedding.scale))
        return embedded

    def spread(self, rows: Tensor) -> Tensor:
        padded: Tensor = _Spread.apply(rows, self.places, self.batch * self.length)
        return padded.view(self.batch, self.length, -1)

    def attend(self, module: Any, parts: tuple[Tensor, Tensor, Tensor], bias: Tensor) -> Tensor:
        heads, _ = attention.explicit_attention(*parts, bias)
        rows: Tensor = _Gather.apply(heads.transpose(1, 2).flatten(2).flatten(0, 1), self.places)
        joined: Tensor = module.output(rows)
        return joined


def flattened_loss(model: Transformer, batch: Tensors) -> Tensor:
    """Compute all but attention on real tokens alone, `[tokens, d_model]`."""
    src = _Side(batch.src, (batch.src != PAD).flatten().nonzero().squeeze(1))
    tgt = _Side(batch.tgt_in, batch.real)
    padding = additive(padding_mask(batch.src))
    causal = additive(causal_mask(tgt.length, batch.src.device))

    def self_attention(side: _Side, bias: Tensor, module: SelfAttention, rows: Tensor) -> Tensor:
        joint = side.spread(module.query_key_value(rows))
        return side.attend(module, module.split(joint, *[module.heads] * 3), bias)

    def cross_attention(memory: Tensor, module: CrossAttention, rows: Tensor) -> Tensor:
        (query,) = module.split(tgt.spread(module.query(rows)), module.heads)
        key, value = module.split(src.spread(module.key_value(memory)), *[module.heads] * 2)
        return tgt.attend(module, (query, key, value), padding)

    states = src.embed(model.src_embedding)
    for layer in model.encoder:
        states = layer.add_norms[0](
            states, partial(self_attention, src, padding, layer.self_attention)
        )
        states = layer.add_norms[1](states, layer.feed_forward)
    memory = model.encoder_norm(states)
    states = tgt.embed(model.tgt_embedding)
    for layer in model.decoder:
        states = layer.add_norms[0](
            states, partial(self_attention, tgt, causal, layer.self_attention)
        )
        states = layer.add_norms[1](states, partial(cross_attention, memory, layer.cross_attention))
        states = layer.add_norms[2](states, layer.feed_forward)
    hidden = model.decoder_norm(states).unsqueeze(0)
    targets = batch.tgt_out.flatten().index_select(0, batch.real)
    return output_loss(hidden, model.output.weight, targets, SMOOTHING).total


def keys_copied_first(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, _dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Lay keys out by head before they are transposed, which is then a view."""
    scale = query.size(-1) ** -0.5
    scores = query @ key.contiguous().transpose(-2, -1)
    weights = torch.add(bias, scores, alpha=scale).softmax(dim=-1)
    return weights @ value, weights


def one_function(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, _dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Attend in a function with a backward pass of its own."""
    heads: Tensor = _Attention.apply(query, key, value, bias)
    return heads, heads


class _Attention(torch.autograd.Function):
    """Keeps one array of weights, softmax in place, scales inside the products."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
        batch, heads, q_len, d_head = query.shape
        query, key, value = (part.contiguous().flatten(0, 1) for part in (query, key, value))
        ctx.scale = d_head**-0.5
        weights = torch.bmm(query, key.transpose(1, 2)).view(batch, heads, q_len, -1)
        torch.add(bias, weights, alpha=ctx.scale, out=weights)
        weights = torch.softmax(weights, dim=-1, out=weights).flatten(0, 1)
        ctx.save_for_backward(query, key, value, weights)
        return torch.bmm(weights, value).view(batch, heads, q_len, d_head)

    @staticmethod
    def backward(ctx: Any, by_heads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        query, key, value, weights = ctx.saved_tensors
        shape = (*by_heads.shape[:2], -1, by_heads.size(3))
        gradient = by_heads.contiguous().flatten(0, 1)
        by_value = torch.bmm(weights.transpose(1, 2), gradient)
        by_scores = torch.bmm(gradient, value.transpose(1, 2))
        by_scores = torch._softmax_backward_data(by_scores, weights, -1, weights.dtype)
        by_query, by_key = torch.empty_like(query), torch.empty_like(key)
        torch.baddbmm(by_query, by_scores, key, beta=0, alpha=ctx.scale, out=by_query)
        by_scores = by_scores.transpose(1, 2)
        torch.baddbmm(by_key, by_scores, query, beta=0, alpha=ctx.scale, out=by_key)
        return by_query.view(shape), by_key.view(shape), by_value.view(shape), None


class _SeparateLinear(nn.Module):
    """A joint projection as one product for each part."""

    def __init__(self, joint: nn.Linear, parts: int) -> None:
        super().__init__()
        self.weights = nn.ParameterList(part.clone() for part in joint.weight.data.chunk(parts))
        self.biases = nn.ParameterList(part.clone() for part in joint.bias.data.chunk(parts))

    def forward(self, states: Tensor) -> Tensor:
        pairs = zip(self.weights, self.biases, strict=True)
        return torch.cat([F.linear(states, weight, bias) for weight, bias in pairs], dim=-1)


def separate_projections(model: Transformer) -> None:
    """Make queries, keys and values in products of their own."""
    for module in model.modules():
        if isinstance(module, SelfAttention):
            module.query_key_value = _SeparateLinear(module.query_key_value, 3)
        if isinstance(module, CrossAttention):
            module.key_value = _SeparateLinear(module.key_value, 2)


def memory_in_one_product(model: Transformer, batch: Tensors) -> Tensor:
    """Make the keys and values of all decoder layers in one product."""
    modules = [layer.cross_attention for layer in model.decoder]
    memory = model.encode(batch.src)
    weight = torch.cat([module.key_value.weight for module in modules])
    bias = torch.cat([module.key_value.bias for module in modules])
    parts = F.linear(memory.states, weight, bias).chunk(len(modules), dim=-1)
    padding = additive(memory.mask)
    causal = additive(causal_mask(batch.tgt_in.size(1), batch.src.device))
    states = model.tgt_embedding(batch.tgt_in)
    for layer, part in zip(model.decoder, parts, strict=True):
        cross = layer.cross_attention
        keys, values = cross.split(part.contiguous(), cross.groups, cross.groups)
        read = partial(cross.read, keys=keys, values=values, bias=padding)
        states = layer.add_norms[0](states, partial(layer.self_attention, bias=causal))
        states = layer.add_norms[1](states, read)
        states = layer.add_norms[2](states, layer.feed_forward)
    hidden = model.decoder_norm(states).flatten(0, 1).index_select(0, batch.real)
    targets = batch.tgt_out.flatten().index_select(0, batch.real)
    return output_loss(hidden.unsqueeze(0), model.output.weight, targets, SMOOTHING).total


def torch_dropout(model: Transformer) -> None:
    """Put PyTorch's dropout in the place of ours."""
    for module in model.modules():
        if isinstance(module, AddNorm | Embedding) and isinstance(module.dropout, Dropout):
            module.dropout = nn.Dropout(module.dropout.probability)


def dropout_with_residual(model: Transformer) -> None:
    """Add what is dropped to the residual in one operation."""

    def forward(self: AddNorm, states: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        made = sublayer(self.norm(states))
        mask = self.dropout(torch.ones_like(made))
        return torch.addcmul(states, made, mask)

    for module in model.modules():
        if isinstance(module, AddNorm):
            module.forward = partial(forward, module)


@contextmanager
def swapped(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Put another value in a place for a while."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    yield
    setattr(owner, name, before)


@contextmanager
def highest_precision() -> Iterator[None]:
    """Compute matrix products as PyTorch does by default."""
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision("medium")
