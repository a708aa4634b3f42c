"""A stand-in for a model, random logits for each sentence and prefix, and plain searches."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from hanyi.decoding.hypothesis import Hypothesis
from hanyi.tokens.vocab import BOS, EOS, PAD

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

    def step(self, tokens: Tensor, cache: Prefixes) -> Tensor:
        """Give logits `[rows, vocab]` as a model would."""
        assert len(tokens) == len(cache.rows)
        rows = zip(cache.rows, tokens.tolist(), strict=True)
        cache.rows = [(sentence, (*prefix, token)) for (sentence, prefix), token in rows]
        return torch.stack([self.logits(*row) for row in cache.rows]).float()


@dataclass
class Prefixes:
    """A cache that remembers each row's sentence and prefix."""

    rows: list[tuple[int, Prefix]]

    @classmethod
    def begin(cls, sentences: int, beams: int = 1) -> Prefixes:
        return cls([(sentence, ()) for sentence in range(sentences) for _ in range(beams)])

    def select(self, index: Tensor) -> None:
        self.rows = [self.rows[row] for row in index.tolist()]


def ranked(found: list[Hypothesis], length_penalty: float) -> list[Hypothesis]:
    """Sort by the definition: finished ones first, then by score."""

    def score(one: Hypothesis) -> float:
        length = len(one.tokens) + one.finished
        return one.log_prob / ((5 + length) / 6) ** length_penalty

    return sorted(found, key=lambda one: (not one.finished, -score(one)))


def exhaustive(table: Table, sentence: int, limit: int) -> list[Hypothesis]:
    """Give every sequence that may be written within the limit."""
    found: list[Hypothesis] = []
    waiting: list[tuple[Prefix, float]] = [((), 0.0)]
    while waiting:
        tokens, total = waiting.pop()
        if len(tokens) == limit:
            found.append(Hypothesis(list(tokens), total, finished=False))
            continue
        for token, gain in enumerate(table.log_probs(sentence, (BOS, *tokens))):
            if token == EOS:
                found.append(Hypothesis(list(tokens), total + gain, finished=True))
            elif token not in {PAD, BOS}:
                waiting.append(((*tokens, token), total + gain))
    return found


def plain_beam(table: Table, sentence: int, limit: int, beams: int) -> list[Hypothesis]:
    """Search one sentence as the docstring of the beam says, with lists, and never stop early."""
    found: list[Hypothesis] = []
    live: list[tuple[Prefix, float]] = [((), 0.0)]
    for _ in range(limit):
        places = beams - len(found)
        candidates = [
            (total + gain, tokens, token)
            for tokens, total in live
            for token, gain in enumerate(table.log_probs(sentence, (BOS, *tokens)))
            if token not in {PAD, BOS}
        ]
        live = []
        for total, tokens, token in sorted(candidates, reverse=True)[:places]:
            if token == EOS:
                found.append(Hypothesis(list(tokens), total, finished=True))
            else:
                live.append(((*tokens, token), total))
    return found + [Hypothesis(list(tokens), total, finished=False) for tokens, total in live]
