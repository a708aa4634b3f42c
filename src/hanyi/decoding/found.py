"""The hypotheses that a beam search has brought to an end, and what the others must beat."""

from __future__ import annotations

import torch

from hanyi.decoding.config import SearchConfig
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.tokens.vocab import EOS

NOTHING = float("-inf")


class Found:
    """The ended hypotheses of each sentence of a batch."""

    def __init__(self, batch: int, config: SearchConfig, device: torch.device) -> None:
        self.config = config
        self.hypotheses: list[list[Hypothesis]] = [[] for _ in range(batch)]
        # [batch], what a live hypothesis must score to be among the n_best finished ones
        self.bars = torch.full((batch,), NOTHING, device=device)

    def add(self, owner: int, tokens: list[int], log_prob: float, off: float = 0.0) -> None:
        """Keep a hypothesis of a sentence; one that ends with EOS is finished.

        `off`, 0 or less, is added to its score.
        """
        score = log_prob / self.config.norm(len(tokens)) + off
        finished = tokens[-1:] == [EOS]
        if finished:
            tokens = tokens[:-1]
        kept = self.hypotheses[owner]
        # Groups of a beam may find the same.
        if any(one.finished == finished and one.tokens == tokens for one in kept):
            return
        kept.append(Hypothesis(tokens, log_prob, finished, score))
        scores = sorted((one.score for one in kept if one.finished), reverse=True)
        if len(scores) >= self.config.n_best:
            self.bars[owner] = scores[self.config.n_best - 1]

    def best(self) -> list[list[Hypothesis]]:
        """Give the `n_best` of each sentence: finished ones first, the best score first."""
        return [
            sorted(kept, key=lambda one: (not one.finished, -one.score))[: self.config.n_best]
            for kept in self.hypotheses
        ]
