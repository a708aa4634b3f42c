"""A stand-in for a model: random logits and attention for each sentence and prefix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

Prefix = tuple[int, ...]


@dataclass
class Table:
    """Logits that depend on the sentence and on all tokens so far, and on nothing else."""

    seed: int
    vocab: int
    sharpness: float = 2.0
    known: dict[tuple[int, Prefix], Tensor] = field(default_factory=dict)

    def logits(self, sentence: int, prefix: Prefix) -> Tensor:
        key = (sentence, prefix)
        if key not in self.known:
            draw = np.random.default_rng([self.seed, sentence, *prefix])
            self.known[key] = torch.from_numpy(self.sharpness * draw.normal(size=self.vocab))
        return self.known[key]

    def log_probs(self, sentence: int, prefix: Prefix) -> list[float]:
        return self.logits(sentence, prefix).log_softmax(-1).tolist()

    def attention(self, sentence: int, prefix: Prefix, src_len: int) -> list[float]:
        """Give the share of each source token, as a step does that reads all of the prefix."""
        draw = np.random.default_rng([self.seed, sentence, *prefix, 1])
        shares: list[float] = np.exp(2 * draw.normal(size=src_len)).tolist()
        return [share / sum(shares) for share in shares]

    def step(self, tokens: Tensor, cache: Prefixes) -> Tensor:
        """Give logits `[rows, vocab]` as a model would."""
        assert len(tokens) == len(cache.rows)
        rows = zip(cache.rows, tokens.tolist(), strict=True)
        cache.rows = [(sentence, (*prefix, token)) for (sentence, prefix), token in rows]
        if cache.src_lens:
            cache.attention = torch.zeros(len(cache.rows), max(cache.src_lens))
            for row, (sentence, prefix) in enumerate(cache.rows):
                read = self.attention(sentence, prefix, cache.src_lens[sentence])
                cache.attention[row, : len(read)] = torch.tensor(read)
        return torch.stack([self.logits(*row) for row in cache.rows]).float()


@dataclass
class Prefixes:
    """A cache that remembers each row's sentence and prefix."""

    rows: list[tuple[int, Prefix]]
    src_lens: list[int] = field(default_factory=list)  # of each sentence, to have attention
    attention: Tensor = field(default_factory=lambda: torch.empty(0))

    @classmethod
    def begin(cls, sentences: int, beams: int = 1, src_lens: Sequence[int] = ()) -> Prefixes:
        rows: list[tuple[int, Prefix]] = [
            (sentence, ()) for sentence in range(sentences) for _ in range(beams)
        ]
        return cls(rows, list(src_lens))

    def select(self, index: Tensor) -> None:
        self.rows = [self.rows[row] for row in index.tolist()]
