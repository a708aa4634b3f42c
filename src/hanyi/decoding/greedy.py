"""Greedy search, always the likeliest token: a beam of one without the bookkeeping."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor

from hanyi.decoding.config import SearchConfig
from hanyi.decoding.hypothesis import Hypothesis, Rows, best_tokens, next_log_probs
from hanyi.tokens.vocab import BOS, EOS

Cache = TypeVar("Cache", bound=Rows)


def greedy_search(
    step: Callable[[Tensor, Cache], Tensor], cache: Cache, limits: Tensor, config: SearchConfig
) -> list[Hypothesis]:
    """Find one hypothesis for each of `[batch]` sentences.

    `step(tokens [rows], cache)` gives logits `[rows, tgt_vocab]`; `limits` is the length of each,
    EOS included, at most. Sentences leave the batch as they end.
    """
    batch, longest = len(limits), int(limits.max())
    written = torch.full((batch, longest), EOS, device=limits.device)
    log_probs = torch.zeros(batch, device=limits.device)
    sentences = torch.arange(batch, device=limits.device)  # [rows], the sentence of each row
    tokens = torch.full_like(sentences, BOS)
    for length in range(longest):
        gains, best = best_tokens(next_log_probs(step(tokens, cache)), 1)
        tokens = best[:, 0]
        log_probs[sentences] += gains[:, 0]
        written[sentences, length] = tokens
        alive = (tokens != EOS) & (length + 1 < limits[sentences])
        rows = alive.nonzero().flatten()
        if not len(rows):
            break
        if len(rows) < len(alive):
            sentences, tokens = sentences[rows], tokens[rows]
            cache.select(rows)
    return [
        _hypothesis(row[:limit], log_prob, config)
        for row, limit, log_prob in zip(
            written.tolist(), limits.tolist(), log_probs.tolist(), strict=True
        )
    ]


def _hypothesis(row: list[int], log_prob: float, config: SearchConfig) -> Hypothesis:
    finished = EOS in row
    tokens = row[: row.index(EOS)] if finished else row
    score = log_prob / config.norm(len(tokens) + finished)
    return Hypothesis(tokens, log_prob, finished, score)
