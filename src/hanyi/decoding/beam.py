"""Batched beam search, which knows nothing of the model (Wu et al. 2016, 7).

Each sentence has `beam_size` places, which the likeliest continuations fill in every step. Of as
many of the best continuations as there are places, those with EOS are kept as finished; the places
go to the best of the others, so the beam stays as wide as it is. A sentence leaves the batch when
`patience` times `beam_size` hypotheses have finished (Kasai et al. 2022; 1 is what most toolkits
do), or before, as soon as no live hypothesis can still beat the worst of its `n_best` kept ones:
that never changes the result. A beam of one is greedy search, whatever the patience.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

import torch
from torch import Tensor

from hanyi.decoding.banks import rule_out_ends, widen
from hanyi.decoding.choices import Choice, choose
from hanyi.decoding.config import SearchConfig
from hanyi.decoding.coverage import Coverage
from hanyi.decoding.found import NOTHING, Found
from hanyi.decoding.hypothesis import Attentive, Hypothesis, Rows, best_tokens, next_log_probs
from hanyi.decoding.rules import Rules
from hanyi.decoding.sentences import Sentence
from hanyi.decoding.terms import Mark, Terms
from hanyi.tokens.vocab import BOS, EOS

Cache = TypeVar("Cache", bound=Rows)


@dataclass(slots=True)
class BeamState:
    """The sentences that are still searched."""

    sentences: Tensor  # [batch], their numbers in the caller's order
    limits: Tensor  # [batch], tokens of a hypothesis, EOS included, at most
    shortest: int  # of the limits
    ceilings: Tensor  # [batch], the norms at the limits
    finished: Tensor  # [batch, groups], hypotheses that each group has finished
    wanted: float  # after so many a group is done
    tokens: Tensor  # [batch * beams, length], BOS first
    log_probs: Tensor  # [batch, beams], nats; -inf: an empty place
    marks: list[Mark | None]  # [batch * beams], or empty where no sentence has terms

    @property
    def owners(self) -> Tensor:
        """Give the sentence of each row, `[batch * beams]`."""
        return self.sentences.repeat_interleave(self.log_probs.size(1))

    @property
    def length(self) -> int:
        """Give the number of tokens so far, BOS not counted."""
        return self.tokens.size(1) - 1


def beam_search(
    step: Callable[[Tensor, Cache], Tensor],
    cache: Cache,
    sentences: Sequence[Sentence],
    config: SearchConfig,
    device: torch.device,
) -> list[list[Hypothesis]]:
    """Find the best hypotheses, at most `n_best` for each sentence, best first.

    `step(tokens [rows], cache)` gives logits `[rows, tgt_vocab]`; the cache holds `beam_size` rows
    for each sentence, side by side. Hypotheses that were cut, at the limit or where the rules left
    no token, come after all finished ones. There is none where the model gives no numbers.
    """
    beams = config.beam_size
    state = _begin(sentences, config, device)
    rules = Rules(sentences, config.no_repeat_ngram, device)
    coverage = (
        Coverage(sentences, config.coverage_penalty, device) if config.uses_attention else None
    )
    found = Found(len(sentences), config, device)
    while True:
        log_probs = next_log_probs(step(state.tokens[:, -1], cache))
        if coverage:
            coverage.add(cast("Attentive", cache).attention)
        best, live = _extend(state, log_probs, rules, found, config)
        log_probs = _close(state, best, live, found, coverage)
        remaining = (~_is_over(state, log_probs, found)).nonzero().flatten()
        if not len(remaining):
            return found.best()
        index = (remaining[:, None] * beams + live.origins[remaining]).flatten()
        if not _is_identity(index, len(state.tokens)):
            cache.select(index)
        if coverage:
            coverage.select(index)
        _go_on(state, live, log_probs, remaining, index)


def _begin(sentences: Sequence[Sentence], config: SearchConfig, device: torch.device) -> BeamState:
    batch, beams = len(sentences), config.beam_size
    # All places of a group are equal at first, so only one of them counts.
    log_probs = torch.full((batch, beams), NOTHING, device=device)
    log_probs[:, :: beams // config.beam_groups] = 0.0
    limits = [sentence.limit for sentence in sentences]
    marks: list[Mark | None] = []
    if any(sentence.wish.terms for sentence in sentences):
        for sentence in sentences:
            terms = sentence.wish.terms
            marks += [Terms(terms).begin() if terms else None] * beams
    return BeamState(
        sentences=torch.arange(batch, device=device),
        limits=torch.tensor(limits, device=device),
        shortest=min(limits),
        ceilings=torch.tensor([config.norm(limit) for limit in limits], device=device),
        finished=torch.zeros(batch, config.beam_groups, dtype=torch.int64, device=device),
        wanted=config.patience * (beams // config.beam_groups) if beams > 1 else 1,
        tokens=torch.full((batch * beams, 1), BOS, device=device),
        log_probs=log_probs,
        marks=marks,
    )


def _extend(
    state: BeamState, log_probs: Tensor, rules: Rules, found: Found, config: SearchConfig
) -> tuple[Choice, Choice]:
    """Choose the best continuations of each sentence, and the best without EOS."""
    batch, beams = state.log_probs.shape
    if not rules.idle:
        rules.rule_out(log_probs, state.tokens[:, 1:], state.owners)
    if state.marks:
        rule_out_ends(log_probs, state.marks)
    # The best of all are among the best of each row, so only these need adding up: as many as there
    # are places, and EOS. Groups that choose before another take no more than that away from it.
    gains, tokens = best_tokens(log_probs, min(beams + 1, log_probs.size(1)))
    if state.marks:
        gains, tokens = widen(gains, tokens, log_probs, state.marks)
    if state.marks or not rules.idle:
        _keep_stuck(state, gains[:, 0].view(batch, beams), found)
    totals = state.log_probs[:, :, None] + gains.view(batch, beams, -1)
    tokens = tokens.view(batch, beams, -1)
    marks = [state.marks[row : row + beams] for row in range(0, len(state.marks), beams)]
    return choose(totals, tokens, config.beam_groups, config.diversity_penalty, marks)


def _keep_stuck(state: BeamState, likeliest: Tensor, found: Found) -> None:
    """Keep hypotheses as they are for which the rules left no token."""
    stuck = likeliest.isneginf() & (state.log_probs > NOTHING)
    for sentence, place in stuck.nonzero().tolist():
        tokens = state.tokens[sentence * stuck.size(1) + place, 1:].tolist()
        log_prob = float(state.log_probs[sentence, place])
        found.add(int(state.sentences[sentence]), tokens, log_prob)


def _close(
    state: BeamState, best: Choice, live: Choice, found: Found, coverage: Coverage | None
) -> Tensor:
    """Keep what ends in this step, and give the log probabilities of what lives on."""
    log_probs = live.log_probs
    ended = (best.tokens == EOS) & (best.log_probs > NOTHING)
    if ended.any():
        _keep_finished(state, best, ended, found, coverage)
        batch, groups = state.finished.shape
        enough = (state.finished >= state.wanted)[:, :, None]
        log_probs = log_probs.view(batch, groups, -1).masked_fill(enough, NOTHING).flatten(1)
    if state.length + 1 == state.shortest:
        cut = (state.limits == state.shortest)[:, None] & (log_probs > NOTHING)
        _keep(state, live, cut, found)
        log_probs = log_probs.masked_fill(cut, NOTHING)
    return log_probs


def _keep_finished(
    state: BeamState, best: Choice, ended: Tensor, found: Found, coverage: Coverage | None
) -> None:
    off = None
    if coverage:
        sentences = ended.nonzero()[:, 0]
        rows = sentences * ended.size(1) + best.origins[ended]
        off = coverage.penalties(rows, state.sentences[sentences])
    _keep(state, best, ended, found, off)
    state.finished += ended.view(*state.finished.shape, -1).sum(dim=2)


def _keep(
    state: BeamState, choice: Choice, which: Tensor, found: Found, off: Tensor | None = None
) -> None:
    sentences = which.nonzero()[:, 0]
    rows = sentences * which.size(1) + choice.origins[which]
    written = torch.cat((state.tokens[rows, 1:], choice.tokens[which][:, None]), dim=1)
    log_probs = choice.log_probs[which]
    off = torch.zeros_like(log_probs) if off is None else off
    for kept in zip(
        state.sentences[sentences].tolist(),
        written.tolist(),
        log_probs.tolist(),
        off.tolist(),
        strict=True,
    ):
        found.add(*kept)


def _is_over(state: BeamState, log_probs: Tensor, found: Found) -> Tensor:
    """Say of each sentence whether no live hypothesis can beat its n_best-th kept one, `[batch]`.

    Going on never adds to a log probability, which is negative, and coverage only takes off; what
    can raise the score is a larger norm to divide by, and that is largest at the limit.
    """
    reachable = log_probs.amax(dim=1) / state.ceilings
    return ~(reachable > found.bars[state.sentences])  # so that NaN is an end too


def _go_on(
    state: BeamState, live: Choice, log_probs: Tensor, remaining: Tensor, index: Tensor
) -> None:
    """Write the tokens, and leave sentences that are over behind."""
    newest = live.tokens[remaining].flatten()
    state.tokens = torch.cat((state.tokens[index], newest[:, None]), dim=1)
    state.log_probs = log_probs[remaining]
    if len(remaining) < len(state.sentences):
        state.sentences = state.sentences[remaining]
        state.limits = state.limits[remaining]
        state.shortest = int(state.limits.min())
        state.ceilings = state.ceilings[remaining]
        state.finished = state.finished[remaining]
    if state.marks:
        origins = (state.marks[row] for row in index.tolist())
        pairs = zip(origins, newest.tolist(), strict=True)
        state.marks = [mark and mark.after(token) for mark, token in pairs]


def _is_identity(index: Tensor, size: int) -> bool:
    return len(index) == size and torch.equal(index, torch.arange(size, device=index.device))
