"""What the hypotheses of a beam go on with: which continuations end, and which fill the places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from hanyi.decoding.banks import Marks, by_banks
from hanyi.tokens.vocab import EOS


class Choice(NamedTuple):
    """Continuations of each sentence, `[batch, beams]` each; of a group, best first."""

    origins: Tensor  # the place of the hypothesis that goes on
    tokens: Tensor
    log_probs: Tensor  # nats, with the token; -inf: none


def choose(
    totals: Tensor, tokens: Tensor, groups: int, diversity: float, marks: Sequence[Marks]
) -> tuple[Choice, Choice]:
    """Choose among continuations, `[batch, beams, width]`: the best, and the best without EOS.

    Of the former, as many as there are places, those with EOS end; the latter fill the places.
    Groups choose one after the other, each among the continuations of its own places. A token loses
    `diversity` nats for each live hypothesis of an earlier group that took it in this step
    (Vijayakumar et al. 2018, 3), for the choice alone: log probabilities stay the model's.
    """
    beams = totals.size(1)
    places = beams // groups
    chosen = []
    taken: list[Tensor] = []
    for start in range(0, beams, places):
        block = slice(start, start + places)
        keys = totals[:, block]
        if diversity and taken:
            found = tokens[:, block, :, None] == torch.cat(taken, dim=1)[:, None, None, :]
            keys = keys - diversity * found.sum(dim=3)
        order = keys.flatten(1).topk(2 * places).indices
        if marks:
            by_banks(order, keys, tokens[:, block], [own[block] for own in marks])
        best, live = _fill(order, totals[:, block], tokens[:, block], start)
        chosen.append((best, live))
        taken.append(live.tokens.masked_fill(live.log_probs.isinf(), -1))
    if groups == 1:
        return chosen[0]
    return _join([best for best, _ in chosen]), _join([live for _, live in chosen])


def _fill(order: Tensor, totals: Tensor, tokens: Tensor, start: int) -> tuple[Choice, Choice]:
    """Take from `order [batch, 2 * places]`, which has EOS at most once for each place."""
    places = order.size(1) // 2
    every = Choice(
        order.div(totals.size(2), rounding_mode="floor") + start,
        tokens.flatten(1).gather(1, order),
        totals.flatten(1).gather(1, order),
    )
    best = Choice(*(each[:, :places] for each in every))
    ends = every.tokens == EOS
    if not ends.any():
        return best, best
    going = ends.to(torch.uint8).argsort(dim=1, stable=True)[:, :places]
    return best, Choice(*(each.gather(1, going) for each in every))


def _join(parts: list[Choice]) -> Choice:
    return Choice(*(torch.cat(each, dim=1) for each in zip(*parts, strict=True)))
