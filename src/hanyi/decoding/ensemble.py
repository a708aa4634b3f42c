"""Several models that translate as one: their probabilities are averaged in each step.

The arithmetic mean of probabilities, as in Sutskever et al. 2014 and Sennrich et al. 2016; their
widths and depths may differ, their tokens may not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from hanyi.errors import ArtifactError
from hanyi.model.cache import Cache
from hanyi.model.storage import ModelFile, load_model
from hanyi.model.transformer import Memory, Transformer


class Model(Protocol):
    """What decoding needs of a model: a `Transformer` or an `Ensemble` of them."""

    src_vocab: int
    tgt_vocab: int
    training: bool

    def train(self, mode: bool = True) -> Any:
        """Switch dropout on or off."""

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]:
        """Give the weights."""

    def encode(self, src: Tensor) -> Any:
        """Encode `[batch, src_len]`, EOS included."""

    def start(self, memory: Any, beams: int = 1) -> Any:
        """Begin to decode step by step, with `beams` rows for each sentence of the memory."""

    def step(self, tokens: Tensor, cache: Any) -> Tensor:
        """Map the newest tokens `[rows]` to logits `[rows, tgt_vocab]`."""

    def step_attending(self, tokens: Tensor, cache: Any) -> Tensor:
        """Do the same, and leave `cache.attention`, `[rows, src_len]`."""

    def decode(self, tgt_in: Tensor, memory: Any) -> Tensor:
        """Map `[batch, tgt_len]`, BOS first, to hidden states."""

    @property
    def output(self) -> Callable[[Tensor], Tensor]:
        """Map hidden states to logits `[..., tgt_vocab]`."""


@dataclass(slots=True)
class EnsembleCache:
    """The state of each model, whose rows move together."""

    caches: list[Cache]
    attention: Tensor | None = None  # [rows, src_len], the mean of the models', if asked for

    def select(self, index: Tensor) -> None:
        """Make row `index[i]` the new row i."""
        for cache in self.caches:
            cache.select(index)


class Ensemble(nn.Module):
    """Models with the same tokenizers; to those who decode, it looks like a `Transformer`."""

    def __init__(self, models: Sequence[Transformer]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        self.src_vocab = models[0].src_vocab
        self.tgt_vocab = models[0].tgt_vocab
        for model in models:
            found, expected = (
                f"vocabularies of {one.src_vocab} and {one.tgt_vocab} tokens"
                for one in (model, models[0])
            )
            if found != expected:
                raise ArtifactError(
                    "the ensemble",
                    f"a model with {found}",
                    f"{expected}, as in the first",
                    "take models that were trained with the same tokenizers",
                )

    def encode(self, src: Tensor) -> list[Memory]:
        """Encode `[batch, src_len]`, EOS included, by each model."""
        return [model.encode(src) for model in self._each()]

    def start(self, memories: Sequence[Memory], beams: int = 1) -> EnsembleCache:
        """Begin to decode step by step, with `beams` rows for each sentence of the memories."""
        started = zip(self._each(), memories, strict=True)
        return EnsembleCache([model.start(memory, beams) for model, memory in started])

    def step(self, tokens: Tensor, cache: EnsembleCache) -> Tensor:
        """Map the newest tokens `[rows]` to log probabilities `[rows, tgt_vocab]`, in nats."""
        pairs = zip(self._each(), cache.caches, strict=True)
        return mean_log_probs([model.step(tokens, kept) for model, kept in pairs])

    def step_attending(self, tokens: Tensor, cache: EnsembleCache) -> Tensor:
        """Do the same, and leave in the cache what was read of each source token."""
        pairs = zip(self._each(), cache.caches, strict=True)
        logits = [model.step_attending(tokens, kept) for model, kept in pairs]
        attention = [cast("Tensor", kept.attention) for kept in cache.caches]
        cache.attention = torch.stack(attention).mean(dim=0)
        return mean_log_probs(logits)

    def decode(self, tgt_in: Tensor, memories: Sequence[Memory]) -> Tensor:
        """Map `[batch, tgt_len]`, BOS first, to hidden states of all models side by side."""
        pairs = zip(self._each(), memories, strict=True)
        return torch.cat([model.decode(tgt_in, memory) for model, memory in pairs], dim=-1)

    def output(self, hidden: Tensor) -> Tensor:
        """Map hidden states as `decode` gives them to log probabilities `[..., tgt_vocab]`."""
        parts = hidden.split_with_sizes([model.config.d_model for model in self._each()], dim=-1)
        pairs = zip(self._each(), parts, strict=True)
        return mean_log_probs([model.output(part) for model, part in pairs])

    def _each(self) -> list[Transformer]:
        return cast("list[Transformer]", list(self.models))


def mean_log_probs(logits: Sequence[Tensor]) -> Tensor:
    """Give the log, in nats, of the mean of the probabilities of `[..., tgt_vocab]` each."""
    log_probs = torch.stack([each.float().log_softmax(dim=-1) for each in logits])
    return log_probs.logsumexp(dim=0) - math.log(len(logits))


def load_ensemble(
    directories: Sequence[Path], device: torch.device
) -> tuple[Ensemble, list[ModelFile]]:
    """Read several models, ready to translate, and their descriptions.

    Raises `ArtifactError` when one cannot be read, or has other tokenizers than the first.
    """
    loaded = [load_model(directory, device) for directory in directories]
    described = [each for _, each in loaded]
    first = described[0]
    for directory, each in zip(directories, described, strict=True):
        each.require_tokenizers(
            directory,
            first.src_tokenizer,
            first.tgt_tokenizer,
            whose=f"that of {directories[0]}",
            remedy="take models of one project and set decode.ensemble to their folders",
        )
    return Ensemble([model for model, _ in loaded]).eval(), described
