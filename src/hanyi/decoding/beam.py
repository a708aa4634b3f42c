"""Batched beam search, which knows nothing of the model (Wu et al. 2016, 7).

Each sentence has `beams` places. In every step the likeliest continuations fill them; one that ends
with EOS is kept and its place stays empty from then on, so the beam narrows as hypotheses finish,
and a beam of one is greedy search. A sentence leaves the batch when no live hypothesis can still
beat the worst of its `n_best` kept ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from hanyi.decoding.config import SearchConfig
from hanyi.decoding.hypothesis import Hypothesis, Rows, next_log_probs
from hanyi.tokens.vocab import BOS, EOS

Cache = TypeVar("Cache", bound=Rows)

NOTHING = float("-inf")


@dataclass(slots=True)
class BeamState:
    """The sentences that are still searched."""

    sentences: Tensor  # [batch], their numbers in the caller's order
    limits: Tensor  # [batch], tokens of a hypothesis, EOS included, at most
    tokens: Tensor  # [batch, beams, length], BOS first
    log_probs: Tensor  # [batch, beams], nats; -inf: an empty place
    kept: Tensor  # [batch, beams], scores of finished hypotheses, best first; -inf: none yet

    @property
    def newest(self) -> Tensor:
        """Give the last token of each row, `[batch * beams]`."""
        return self.tokens[:, :, -1].flatten()

    @property
    def length(self) -> int:
        """Give the number of tokens so far, BOS not counted."""
        return self.tokens.size(2) - 1


def beam_search(
    step: Callable[[Tensor, Cache], Tensor],
    cache: Cache,
    limits: Tensor,
    config: SearchConfig,
) -> list[list[Hypothesis]]:
    """Find the best hypotheses, at most `n_best` for each of `[batch]` sentences, best first.

    `step(tokens [rows], cache)` gives logits `[rows, tgt_vocab]`; the cache holds `batch * beams`
    rows, those of a sentence side by side. `limits` is the length of each, EOS included, at most.
    The length penalty is an exponent, 0 or more. Hypotheses that were cut at the limit come after
    all finished ones.
    """
    beams, n_best = config.beam_size, config.n_best
    found: list[list[Hypothesis]] = [[] for _ in limits]
    state = _begin(limits, beams)
    while len(state.sentences):
        origins = _extend(state, next_log_probs(step(state.newest, cache)))
        _keep_finished(state, found, config)
        _keep_cut(state, found, config)
        remaining = (~_is_over(state, n_best, config)).nonzero().flatten()
        cache.select((remaining[:, None] * beams + origins[remaining]).flatten())
        _drop(state, remaining)
    return [_rank(hypotheses)[:n_best] for hypotheses in found]


def _begin(limits: Tensor, beams: int) -> BeamState:
    # All places of a sentence are equal at first, so only one of them counts.
    batch, device = len(limits), limits.device
    log_probs = torch.full((batch, beams), NOTHING, device=device)
    log_probs[:, 0] = 0.0
    return BeamState(
        sentences=torch.arange(batch, device=device),
        limits=limits,
        tokens=torch.full((batch, beams, 1), BOS, device=device),
        log_probs=log_probs,
        kept=torch.full((batch, beams), NOTHING, device=device),
    )


def _extend(state: BeamState, log_probs: Tensor) -> Tensor:
    """Fill the places with the likeliest continuations; give each one's origin `[batch, beams]`."""
    batch, beams = state.log_probs.shape
    # The best of all are among the best of each row, so only these need adding up.
    each = min(beams, log_probs.size(1))
    gains, tokens = log_probs.topk(each)  # [batch * beams, each]
    totals = state.log_probs[:, :, None] + gains.view(batch, beams, each)
    best, choices = totals.flatten(1).topk(beams)  # [batch, beams]
    origins = choices.div(each, rounding_mode="floor")
    tokens = tokens.view(batch, beams * each).gather(1, choices)
    history = state.tokens.gather(1, origins[:, :, None].expand_as(state.tokens))
    state.tokens = torch.cat((history, tokens[:, :, None]), dim=2)
    places = beams - state.kept.isfinite().sum(dim=1, keepdim=True)  # [batch, 1]
    ranks = torch.arange(beams, device=best.device)
    state.log_probs = best.masked_fill(ranks >= places, NOTHING)
    return origins


def _keep_finished(state: BeamState, found: list[list[Hypothesis]], config: SearchConfig) -> None:
    ended = (state.tokens[:, :, -1] == EOS) & state.log_probs.isfinite()
    _collect(state, ended, found, config, finished=True)
    scores = state.log_probs / config.norm(state.length)
    scores = torch.cat((state.kept, scores.masked_fill(~ended, NOTHING)), dim=1)
    state.kept = scores.topk(state.kept.size(1)).values
    state.log_probs = state.log_probs.masked_fill(ended, NOTHING)


def _keep_cut(state: BeamState, found: list[list[Hypothesis]], config: SearchConfig) -> None:
    cut = (state.limits == state.length)[:, None] & state.log_probs.isfinite()
    _collect(state, cut, found, config, finished=False)
    state.log_probs = state.log_probs.masked_fill(cut, NOTHING)


def _collect(
    state: BeamState,
    which: Tensor,
    found: list[list[Hypothesis]],
    config: SearchConfig,
    *,
    finished: bool,
) -> None:
    sentences = state.sentences[:, None].expand_as(which)[which].tolist()
    rows = state.tokens[which][:, 1:].tolist()
    log_probs = state.log_probs[which].tolist()
    for sentence, row, log_prob in zip(sentences, rows, log_probs, strict=True):
        tokens = row[:-1] if finished else row
        found[sentence].append(
            Hypothesis(tokens, log_prob, finished, log_prob / config.norm(len(row)))
        )


def _is_over(state: BeamState, n_best: int, config: SearchConfig) -> Tensor:
    """Say of each sentence whether no live hypothesis can beat its n_best-th kept one, `[batch]`.

    Going on never adds to a log probability, which is negative; what can raise the score is a
    larger penalty to divide by, and that is largest at the limit.
    """
    ceilings = torch.tensor([config.norm(limit) for limit in state.limits.tolist()])
    reachable = state.log_probs.amax(dim=1) / ceilings.to(state.log_probs)
    return ~(reachable > state.kept[:, n_best - 1])  # so that NaN is an end too


def _drop(state: BeamState, remaining: Tensor) -> None:
    state.sentences = state.sentences[remaining]
    state.limits = state.limits[remaining]
    state.tokens = state.tokens[remaining]
    state.log_probs = state.log_probs[remaining]
    state.kept = state.kept[remaining]


def _rank(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda one: (not one.finished, -one.score))
