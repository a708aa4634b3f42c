"""The small random model on which the claims of the tutorials are proved."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from hanyi.decoding.config import PLAIN, SearchConfig
from hanyi.model.config import ModelConfig
from hanyi.model.transformer import Transformer
from hanyi.tokens.vocab import BOS, EOS

SRC_VOCAB, TGT_VOCAB = 20, 9
LENGTH = 8  # tokens of a sentence
ROUNDING = 1e-4  # differences of logits around 1 in float32
SIZES = ModelConfig(
    d_model=32,
    heads=4,
    key_value_heads=None,
    d_ff=64,
    layers=2,
    decoder_layers=None,
    embedding_std=0.3,
    dropout=0.0,
    attention_dropout=0.0,
    activation="relu",
    norm="pre",
    norm_type="layer_norm",
    positions="interleaved",
    attention="explicit",
    tie="none",
)


def specimen(attention: str = "explicit") -> Transformer:
    """Make the model, the same each time, ready to translate."""
    torch.manual_seed(1)
    return Transformer(replace(SIZES, attention=attention), SRC_VOCAB, TGT_VOCAB).eval()


def sentences(batch: int, vocab: int, *, first: int | None = None) -> Tensor:
    """Draw `[batch, LENGTH]` tokens without specials, the same each time; `first` begins each."""
    draw = torch.Generator().manual_seed(2)
    tokens = torch.randint(EOS + 1, vocab, (batch, LENGTH), generator=draw)
    if first is not None:
        tokens[:, 0] = first
    return tokens


def sources(batch: int = 3) -> Tensor:
    """Give sources that end with EOS, `[batch, LENGTH]`."""
    tokens = sentences(batch, SRC_VOCAB)
    tokens[:, -1] = EOS
    return tokens


def targets(batch: int = 3) -> Tensor:
    """Give targets that begin with BOS, `[batch, LENGTH]`."""
    return sentences(batch, TGT_VOCAB, first=BOS)


def searching(beam_size: int) -> SearchConfig:
    """Give a search without any norm, so that scores are log probabilities."""
    return replace(PLAIN, beam_size=beam_size, n_best=1, length_penalty=0.0, patience=float("inf"))


def apart(first: Tensor, second: Tensor) -> float:
    """Give the largest difference."""
    return float((first - second).abs().max())
