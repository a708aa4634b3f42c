"""Sampling: translations drawn from the model instead of searched for.

The numbers that decide are drawn beforehand for each sample, from a counter-based generator keyed
by the seed, the number of the row and that of the sample (Philox, Salmon et al. 2011). So a draw
depends on nothing else: neither on the other rows of its batch nor on what was drawn before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from hanyi.decoding.config import SamplingConfig
from hanyi.decoding.hypothesis import Hypothesis, Rows, next_log_probs
from hanyi.tokens.vocab import BOS, EOS

Cache = TypeVar("Cache", bound=Rows)

FEW = 64
"""Likeliest tokens to look at first for a nucleus; sorting the whole vocabulary is slow."""


def sample(
    step: Callable[[Tensor, Cache], Tensor],
    cache: Cache,
    limits: Tensor,
    *,
    rows: Sequence[int],
    samples: int,
    config: SamplingConfig,
) -> list[list[Hypothesis]]:
    """Draw `samples` translations of each of `[batch]` sentences, in the order of their numbers.

    `step(tokens [rows], cache)` gives logits `[rows, tgt_vocab]`; the cache begins with one row for
    each sentence. `limits` is the length of each, EOS included, at most; `rows` are the numbers by
    which sentences are known to the draws. Samples leave the batch as they end. The log probability
    is the model's own, as if nothing were cut off and the temperature were 1.
    """
    device, longest = limits.device, int(limits.max())
    draws = torch.from_numpy(_draws(rows, samples, config.seed, longest)).to(device)
    owners = torch.arange(len(limits), device=device).repeat_interleave(samples)
    limits = limits[owners]  # [batch * samples], and so are all that follow
    cache.select(owners)
    written = torch.full((len(limits), longest), EOS, device=device)
    log_probs = torch.zeros(len(limits), device=device)
    alive = torch.arange(len(limits), device=device)
    tokens = torch.full_like(alive, BOS)
    for length in range(longest):
        gains = next_log_probs(step(tokens, cache))
        tokens = draw(gains, draws[alive, length], config)
        log_probs[alive] += gains.gather(1, tokens[:, None])[:, 0]
        written[alive, length] = tokens
        going = ((tokens != EOS) & (length + 1 < limits[alive])).nonzero().flatten()
        if not len(going):
            break
        if len(going) < len(alive):
            alive, tokens = alive[going], tokens[going]
            cache.select(going)
    found = [
        _hypothesis(row[:limit], log_prob)
        for row, limit, log_prob in zip(
            written.tolist(), limits.tolist(), log_probs.tolist(), strict=True
        )
    ]
    return [found[start : start + samples] for start in range(0, len(found), samples)]


def draw(log_probs: Tensor, numbers: Tensor, config: SamplingConfig) -> Tensor:
    """Draw a token for each row of `[rows, tgt_vocab]` by its number in [0, 1), `[rows]`.

    First the temperature, then the `top_k` likeliest tokens (Fan et al. 2018), then the fewest of
    the likeliest of these that make up `top_p` of their probability (Holtzman et al. 2020, 3.1);
    0 and 1 switch the latter two off.
    """
    best = log_probs.amax(dim=1, keepdim=True)
    weights = ((log_probs - best) / config.temperature).double().exp()
    if config.top_k == 0 and config.top_p == 1:
        return _invert(weights.cumsum(dim=1), numbers)
    weights, tokens = _truncate(weights, config.top_k or weights.size(1), config.top_p)
    return tokens.gather(1, _invert(weights.cumsum(dim=1), numbers)[:, None])[:, 0]


def _truncate(weights: Tensor, top_k: int, top_p: float) -> tuple[Tensor, Tensor]:
    """Give the weights and numbers of the tokens that may be drawn, likeliest first."""
    top_k = min(top_k, weights.size(1))
    if top_p == 1:
        kept = weights.topk(top_k)
        return kept.values, kept.indices
    looked = min(FEW, top_k)
    total = weights.topk(top_k).values.sum(1) if top_k < weights.size(1) else weights.sum(1)
    while True:
        kept = weights.topk(looked)
        sums = kept.values.cumsum(dim=1)
        if looked == top_k or bool((sums[:, -1] >= top_p * total).all()):
            break
        looked = min(8 * looked, top_k)
    # A token stays when those before it do not make up the share yet.
    short = sums - kept.values < top_p * total[:, None]
    return kept.values * short, kept.indices


def _invert(sums: Tensor, numbers: Tensor) -> Tensor:
    """Find the first place of each row whose sum exceeds that share of the last sum."""
    targets = (numbers * sums[:, -1])[:, None]
    places = torch.searchsorted(sums, targets, right=True)[:, 0]
    return places.clamp(max=sums.size(1) - 1)  # where weights are no numbers


def _draws(rows: Sequence[int], samples: int, seed: int, length: int) -> np.ndarray:
    """Give numbers in [0, 1) as `[batch * samples, length]`."""
    keys = (
        np.random.SeedSequence(seed, spawn_key=(row, sample))
        for row in rows
        for sample in range(samples)
    )
    # Of the 64 bits, 52 are used: more could round up to 1.
    raw = np.stack([np.random.Philox(key).random_raw(length) for key in keys])
    return (raw >> np.uint64(12)) * 2.0**-52


def _hypothesis(row: list[int], log_prob: float) -> Hypothesis:
    if EOS in row:
        return Hypothesis(row[: row.index(EOS)], log_prob, finished=True)
    return Hypothesis(row, log_prob, finished=False)
