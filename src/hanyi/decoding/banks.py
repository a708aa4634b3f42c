"""Beams whose hypotheses must hold terms: places are shared out by how many tokens are missing.

Dynamic beam allocation (Post and Vilar 2018): the continuations of a sentence are sorted into
banks by the tokens of terms that are still missing, and the banks take turns in filling the places,
so that hypotheses with more of the terms are not crowded out by likelier ones with fewer. The
likeliest continuations are candidates, and so is every token that advances a term.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

from hanyi.decoding.terms import Mark
from hanyi.tokens.vocab import EOS

NOTHING = float("-inf")
Marks = Sequence[Mark | None]  # of each row; None: of a sentence without terms


def rule_out_ends(log_probs: Tensor, marks: Marks) -> None:
    """Set EOS to -inf, in place, where terms are missing."""
    short = [row for row, mark in enumerate(marks) if mark and mark.missing]
    log_probs[short, EOS] = NOTHING


def widen(gains: Tensor, tokens: Tensor, log_probs: Tensor, marks: Marks) -> tuple[Tensor, Tensor]:
    """Add the tokens that advance a term to the likeliest of each row, both `[rows, width]`.

    A token that is among the likeliest is not added again: its second entry has -inf.
    """
    wanted = [mark.advancing if mark else [] for mark in marks]
    width = max(map(len, wanted))
    if not width:
        return gains, tokens
    padded = [[*row] + [EOS] * (width - len(row)) for row in wanted]
    added = torch.tensor(padded, device=tokens.device)  # [rows, width]
    known = (added[:, :, None] == tokens[:, None, :]).any(dim=2) | (added == EOS)
    more = log_probs.gather(1, added).masked_fill(known, NOTHING)
    return torch.cat((gains, more), dim=1), torch.cat((tokens, added), dim=1)


def by_banks(order: Tensor, keys: Tensor, tokens: Tensor, marks: Sequence[Marks]) -> None:
    """Let the banks take turns in `order [batch, count]`, in place, where a sentence has terms.

    It holds places in `keys` and `tokens`, both `[batch, beams, width]`, in order of preference;
    `marks` are those of each sentence's rows.
    """
    for sentence, own in enumerate(marks):
        if own[0] is not None:
            turns = _turns(keys[sentence].tolist(), tokens[sentence].tolist(), own)
            turns = turns[: order.size(1)]
            order[sentence, : len(turns)] = torch.tensor(turns, device=order.device)


def _turns(keys: list[list[float]], tokens: list[list[int]], marks: Marks) -> list[int]:
    banks: dict[int, list[tuple[float, int]]] = defaultdict(list)
    place = 0
    for mark, row_keys, row_tokens in zip(marks, keys, tokens, strict=True):
        assert mark is not None
        for key, token in zip(row_keys, row_tokens, strict=True):
            missing = mark.missing if token == EOS else mark.after(token).missing
            banks[missing].append((-key, place))
            place += 1
    turns = [
        (key == -NOTHING, rank, missing, place)
        for missing, bank in banks.items()
        for rank, (key, place) in enumerate(sorted(bank))
    ]
    return [place for *_, place in sorted(turns)]
