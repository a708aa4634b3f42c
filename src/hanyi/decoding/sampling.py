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
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hanyi.decoding.config import SamplingConfig, SearchConfig
from hanyi.decoding.hypothesis import Hypothesis, Rows, next_log_probs
from hanyi.decoding.rules import Rules
from hanyi.decoding.sentences import Sentence
from hanyi.tokens.vocab import BOS, EOS

Cache = TypeVar("Cache", bound=Rows)

FEW = 64
"""Likeliest tokens to look at first for a nucleus; sorting the whole vocabulary is slow."""

BLOCK = 128  # tokens

BELOW_ONE = 1 - 2.0**-52
"""The largest of the numbers that decide; a larger one could round up to the whole sum."""


def sample(
    step: Callable[[Tensor, Cache], Tensor],
    cache: Cache,
    sentences: Sequence[Sentence],
    config: SearchConfig,
    device: torch.device,
) -> list[list[Hypothesis]]:
    """Draw `n_best` translations of each sentence: finished ones first, the best score first.

    `step(tokens [rows], cache)` gives logits `[rows, tgt_vocab]`; the cache begins with one row for
    each sentence, of which each sample takes a copy, and samples leave it as they end. The log
    probability is the model's own, as if nothing were cut off and the temperature were 1.
    """
    if any(sentence.wish.terms for sentence in sentences):
        raise ValueError("sampling cannot heed terms")
    samples = config.n_best
    numbers = [sentence.number for sentence in sentences]
    longest = max(sentence.limit for sentence in sentences)
    draws = torch.from_numpy(_draws(numbers, samples, config.sampling.seed, longest)).to(device)
    rules = Rules(sentences, config.no_repeat_ngram, device)
    owners = torch.arange(len(sentences), device=device).repeat_interleave(samples)
    cache.select(owners)
    # [batch * samples], and so are all that follow.
    limits = torch.tensor([sentence.limit for sentence in sentences], device=device)[owners]
    written = torch.full((len(owners), longest), BOS, device=device)
    lengths = torch.zeros_like(owners)
    totals = torch.zeros(len(owners), device=device)
    rows = torch.arange(len(owners), device=device)  # those that go on
    tokens = torch.full_like(rows, BOS)
    for length in range(longest):
        log_probs = next_log_probs(step(tokens, cache))
        if not rules.idle:
            rules.rule_out(log_probs, written[rows, :length], owners[rows])
        free = ~log_probs.amax(dim=1).isneginf()  # the others are cut: the rules left no token
        tokens = draw(log_probs, draws[rows, length], config.sampling)
        written[rows, length] = tokens
        lengths[rows] += free
        totals[rows] += log_probs.gather(1, tokens[:, None])[:, 0].masked_fill(~free, 0.0)
        going = free & (tokens != EOS) & (length + 1 < limits[rows])
        if not going.all():
            kept = going.nonzero().flatten()
            if not len(kept):
                break
            rows, tokens = rows[kept], tokens[kept]
            cache.select(kept)
    found = [
        _hypothesis(row[:length], log_prob, config)
        for row, length, log_prob in zip(
            written.tolist(), lengths.tolist(), totals.tolist(), strict=True
        )
    ]
    return [
        sorted(found[start : start + samples], key=lambda one: (not one.finished, -one.score))
        for start in range(0, len(found), samples)
    ]


def draw(log_probs: Tensor, numbers: Tensor, config: SamplingConfig) -> Tensor:
    """Draw a token for each row of `[rows, tgt_vocab]` by its number in [0, 1), `[rows]`.

    First the temperature, then the `top_k` likeliest tokens (Fan et al. 2018), then the fewest of
    the likeliest of these that make up `top_p` of their probability (Holtzman et al. 2020, 3.1);
    0 and 1 switch the latter two off.
    """
    scaled = (log_probs - log_probs.amax(dim=1, keepdim=True)) / config.temperature
    if not 0 < config.top_k < scaled.size(1):
        return _pick(scaled.exp_(), numbers, config.top_p)
    scaled, tokens = scaled.topk(config.top_k)
    return tokens.gather(1, _pick(scaled.exp_(), numbers, config.top_p)[:, None])[:, 0]


def _pick(weights: Tensor, numbers: Tensor, top_p: float) -> Tensor:
    """Pick a place of each row of `[rows, places]`, with a probability as its weight says."""
    if top_p < 1:
        return _pick_likely(weights, numbers, top_p * weights.sum(dim=1), FEW)
    # Sums of all weights in double precision would take longer than the step of the model, so a
    # block is picked first, then a place in it.
    blocks = functional.pad(weights, (0, -weights.size(1) % BLOCK)).view(len(weights), -1, BLOCK)
    chosen, rest = _invert(blocks.sum(dim=2), numbers)
    block = blocks[torch.arange(len(blocks), device=blocks.device), chosen]
    places = chosen * BLOCK + _invert(block, rest)[0]
    return places.clamp(max=weights.size(1) - 1)  # where weights are no numbers


def _pick_likely(weights: Tensor, numbers: Tensor, mass: Tensor, looked: int) -> Tensor:
    """Pick among the fewest of the heaviest places of each row that make up its mass, `[rows]`."""
    looked = min(looked, weights.size(1))
    kept = weights.topk(looked)
    sums = kept.values.cumsum(dim=1, dtype=torch.double)
    within = sums - kept.values < mass[:, None]  # those before it do not make it up yet
    places, _ = _invert(kept.values * within, numbers)
    picked = kept.indices.gather(1, places[:, None])[:, 0]
    short = (sums[:, -1] < mass).nonzero().flatten()
    if looked < weights.size(1) and len(short):
        picked[short] = _pick_likely(weights[short], numbers[short], mass[short], 8 * looked)
    return picked


def _invert(weights: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Find the place of each row of `[rows, places]` in which its share of the sum is reached.

    Gives the places, and how far into each the share goes, which is a number in [0, 1) too.
    """
    sums = weights.cumsum(dim=1, dtype=torch.double)
    targets = (numbers * sums[:, -1])[:, None]
    places = torch.searchsorted(sums, targets, right=True)
    places = places.clamp(max=weights.size(1) - 1)  # as above
    width = weights.gather(1, places)
    rest = (targets - sums.gather(1, places) + width) / width
    return places[:, 0], rest[:, 0].clamp(0, BELOW_ONE)


def _draws(rows: Sequence[int], samples: int, seed: int, length: int) -> NDArray[np.float64]:
    """Give numbers in [0, 1) as `[batch * samples, length]`."""
    keys = (
        np.random.SeedSequence(seed, spawn_key=(row, sample))
        for row in rows
        for sample in range(samples)
    )
    raw = np.stack([np.random.Philox(key).random_raw(length) for key in keys])
    numbers: NDArray[np.float64] = (raw >> np.uint64(12)) * 2.0**-52
    return numbers


def _hypothesis(row: list[int], log_prob: float, config: SearchConfig) -> Hypothesis:
    finished = row[-1:] == [EOS]
    score = log_prob / config.norm(len(row))
    return Hypothesis(row[:-1] if finished else row, log_prob, finished, score)
