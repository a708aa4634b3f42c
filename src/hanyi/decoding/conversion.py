"""Our model in the form that CTranslate2 reads, with weights and formulas that stay the same.

Every switch of the `model` section has its like there. Fewer heads of keys and values than of
queries are written out, one for each head: CTranslate2 knows them in self-attention only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ctranslate2.specs import (
    Activation,
    TransformerDecoderSpec,
    TransformerEncoderSpec,
    TransformerSpec,
)
from torch import Tensor, nn

from hanyi.model.attention import CrossAttention, MultiHeadAttention, SelfAttention
from hanyi.model.layers import ACTIVATIONS, NORM_EPSILON, FeedForward
from hanyi.model.positions import TURNING
from hanyi.model.transformer import Transformer
from hanyi.tokens.vocab import BOS, EOS, UNK

Vocabularies = tuple[Sequence[str], Sequence[str]]
"""The names of source and target tokens by id."""

FUNCTIONS = {
    "relu": Activation.RELU,
    "gelu": Activation.GELU,
    "silu": Activation.SWISH,
    "swiglu": Activation.SWISH,
    "geglu": Activation.GELU,
}


def convert(
    model: Transformer,
    directory: Path,
    positions: int,
    *,
    vocabularies: Vocabularies | None = None,
    quantization: str | None = None,
) -> None:
    """Write a model for CTranslate2 into an existing directory.

    Its tokens are called by their ids, or by the names of both `vocabularies`. Sequences may have
    `positions` tokens, at most: encodings that are added to embeddings are written as a table, so
    that any way to compute them will do. `quantization` is one of CTranslate2's types; None keeps
    float32.
    """
    src_names, tgt_names = vocabularies or numbered(model)
    config = model.config
    sizes = {
        "num_heads": config.heads,
        "pre_norm": config.norm == "pre",
        "activation": FUNCTIONS[config.activation],
        "ffn_glu": ACTIVATIONS[config.activation].gated,
        "rms_norm": config.norm_type == "rms_norm",
        # 0: all of a head. Halves are turned, not neighbours.
        "rotary_dim": 0 if config.positions in TURNING else None,
        "rotary_interleave": False,
    }
    spec = TransformerSpec(
        TransformerEncoderSpec(config.layers, **sizes),
        TransformerDecoderSpec(config.decoder_depth, **sizes),
    )
    spec.config.unk_token = tgt_names[UNK]
    spec.config.bos_token = spec.config.decoder_start_token = tgt_names[BOS]
    spec.config.eos_token = tgt_names[EOS]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = NORM_EPSILON
    spec.register_source_vocabulary(list(src_names))
    spec.register_target_vocabulary(list(tgt_names))
    with torch.no_grad():
        _fill(spec, model, positions)
        spec.validate()
        spec.optimize(quantization=quantization)  # tied weights are written once
    spec.save(str(directory))


def numbered(model: Transformer) -> Vocabularies:
    """Call each token by its id."""
    return [str(number) for number in range(model.src_vocab)], [
        str(number) for number in range(model.tgt_vocab)
    ]


def _fill(spec: Any, model: Transformer, positions: int) -> None:
    spec.encoder.embeddings[0].weight = _array(model.src_embedding.tokens.weight)
    spec.decoder.embeddings.weight = _array(model.tgt_embedding.tokens.weight)
    spec.decoder.projection.weight = _array(model.output.weight)
    for side, embedding in (
        (spec.encoder, model.src_embedding),
        (spec.decoder, model.tgt_embedding),
    ):
        if embedding.positions is not None:
            side.position_encodings.encodings = _array(embedding.positions(0, positions))
    for layer, written in zip(model.encoder, spec.encoder.layer, strict=True):
        _layer(layer, written, written.self_attention, written.ffn)
    for layer, written in zip(model.decoder, spec.decoder.layer, strict=True):
        _decoder_layer(layer, written)
    if model.config.norm == "pre":
        _norm(spec.encoder.layer_norm, model.encoder_norm)
        _norm(spec.decoder.layer_norm, model.decoder_norm)


def _layer(layer: Any, written: Any, *normed: Any) -> None:
    """Write what encoder and decoder layers have in common; `normed` are the parts with a norm."""
    _self_attention(written.self_attention, layer.self_attention)
    _feed_forward(written.ffn, layer.feed_forward)
    for part, add_norm in zip(normed, layer.add_norms, strict=True):
        _norm(part.layer_norm, add_norm.norm)


def _decoder_layer(layer: Any, written: Any) -> None:
    _cross_attention(written.attention, layer.cross_attention)
    _layer(layer, written, written.self_attention, written.attention, written.ffn)


def _self_attention(written: Any, attention: SelfAttention) -> None:
    heads, groups = attention.heads, attention.groups
    keys = heads + _each_head(attention)
    order = torch.cat((torch.arange(heads), keys, keys + groups))
    _heads(written.linear[0], attention.query_key_value, attention.d_head, order)
    _linear(written.linear[1], attention.output)


def _cross_attention(written: Any, attention: CrossAttention) -> None:
    keys = _each_head(attention)
    order = torch.cat((keys, keys + attention.groups))
    _linear(written.linear[0], attention.query)
    _heads(written.linear[1], attention.key_value, attention.d_head, order)
    _linear(written.linear[2], attention.output)


def _each_head(attention: MultiHeadAttention) -> Tensor:
    """Give for each head the number of its keys, `[heads]`."""
    return torch.arange(attention.groups).repeat_interleave(attention.heads // attention.groups)


def _heads(written: Any, linear: nn.Linear, d_head: int, order: Tensor) -> None:
    """Write a projection to several heads, those of `order` one after the other."""
    written.weight = _array(linear.weight.view(-1, d_head, linear.in_features)[order].flatten(0, 1))
    written.bias = _array(linear.bias.view(-1, d_head)[order].flatten())


def _feed_forward(written: Any, network: FeedForward) -> None:
    gates = network.inner.weight.chunk(2), network.inner.bias.chunk(2)
    if network.gated:
        for part, weight, bias in zip(
            (written.linear_0, written.linear_0_noact), *gates, strict=True
        ):
            part.weight, part.bias = _array(weight), _array(bias)
    else:
        _linear(written.linear_0, network.inner)
    _linear(written.linear_1, network.outer)


def _norm(written: Any, norm: Any) -> None:
    written.gamma = _array(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        written.beta = _array(norm.bias)


def _linear(written: Any, linear: nn.Linear) -> None:
    written.weight, written.bias = _array(linear.weight), _array(linear.bias)


def _array(tensor: Tensor) -> np.ndarray[Any, Any]:
    # A copy: CTranslate2 quantizes in place, and the model's own weights must stay.
    array: np.ndarray[Any, Any] = tensor.detach().float().cpu().contiguous().numpy().copy()
    return array
