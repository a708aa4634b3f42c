"""Batches by a budget of tokens: the plan of an epoch, its padding, and the arrays of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hanyi.tokens.shards import EncodedSplit
from hanyi.tokens.vocab import BOS, EOS, PAD

Indices = NDArray[np.int64]
Lengths = NDArray[np.integer[Any]]


class Batch(NamedTuple):
    """One batch, `int64`, filled up with PAD; the target is shifted by one for teacher forcing."""

    src: Indices  # [batch, src_len], EOS included
    tgt_in: Indices  # [batch, tgt_len], BOS and the tokens
    tgt_out: Indices  # [batch, tgt_len], the tokens and EOS


def plan(
    src_lengths: Lengths,
    tgt_lengths: Lengths,
    *,
    tokens: int,
    seed: int,
    epoch: int,
    rows: Indices | None = None,
) -> list[Indices]:
    """Give an epoch's batches as row numbers, a pure function of its arguments.

    Each of `rows` (all unless given; a row listed twice occurs twice) occurs once. Rows of a batch
    times its longest source, and times its longest target, are at most `tokens`, one special token
    a row included; a row that is longer forms a batch alone. Rows alike in both lengths share a
    batch; `seed` and `epoch` choose among equals and order the batches.
    """
    rng = np.random.default_rng([seed, epoch])
    listed = np.arange(len(src_lengths)) if rows is None else np.asarray(rows)
    listed = rng.permutation(listed.astype(np.int64))
    src = np.asarray(src_lengths)[listed].astype(np.int64) + 1
    tgt = np.asarray(tgt_lengths)[listed].astype(np.int64) + 1
    order = _zigzag(src, tgt, tokens, shift=float(rng.random()))
    bounds = _cuts(np.maximum(src, tgt)[order], tokens)
    batches = np.split(listed[order], bounds)
    return [batches[i] for i in rng.permutation(len(batches)) if len(batches[i])]


def _zigzag(src: Indices, tgt: Indices, tokens: int, shift: float) -> Indices:
    """Order rows so that neighbours are alike in both lengths.

    Rows sorted by source length are cut into runs; within a run they are sorted by target length,
    up and down in turn, so that the seam of two runs joins like lengths. `shift` moves the seams.
    """
    by_src = np.argsort(src, kind="stable")
    spent = np.cumsum(np.maximum(src, tgt)[by_src]) / tokens
    # As many runs as batches in a run: the two sides are then cut equally fine, which pads least.
    runs = np.sqrt(spent[-1]) if len(spent) else 0.0
    run = np.empty(len(src), np.int64)
    run[by_src] = (spent / max(runs, 1.0) + shift).astype(np.int64)
    swept = np.where(run % 2 == 0, tgt, -tgt)
    return np.lexsort((swept, run))


def _cuts(longest: Indices, tokens: int) -> list[int]:
    """Cut ordered rows greedily so that rows times the longest of them stay within the budget."""
    cuts = []
    start = 0
    while start < len(longest):
        # No batch is larger than its first row allows, so only that far is looked.
        window = longest[start : start + max(1, tokens // int(longest[start]))]
        padded = np.maximum.accumulate(window) * np.arange(1, len(window) + 1)
        start += max(1, int(np.searchsorted(padded, tokens, side="right")))
        cuts.append(start)
    return cuts[:-1]


def padding(batches: Sequence[Indices], src_lengths: Lengths, tgt_lengths: Lengths) -> float:
    """Give the share of PAD in the batches, both sides together, special tokens included."""
    real = padded = 0
    for rows in batches:
        for lengths in (np.asarray(src_lengths)[rows], np.asarray(tgt_lengths)[rows]):
            real += int(lengths.sum()) + len(rows)
            padded += len(rows) * (int(lengths.max()) + 1)
    return 1.0 - real / padded if padded else 0.0


def collate(split: EncodedSplit, rows: Indices) -> Batch:
    """Give the arrays of a batch: `src`, `tgt_in` and `tgt_out`."""
    rows = np.asarray(rows, np.int64)
    each = np.arange(len(rows))
    src_lengths, tgt_lengths = split.src_lengths[rows], split.tgt_lengths[rows]
    tgt = split.tgt_flat(rows)
    src_ids = _filled(split.src_flat(rows), src_lengths, at=0)
    src_ids[each, src_lengths] = EOS
    tgt_in = _filled(tgt, tgt_lengths, at=1)
    tgt_in[:, 0] = BOS
    tgt_out = _filled(tgt, tgt_lengths, at=0)
    tgt_out[each, tgt_lengths] = EOS
    return Batch(src_ids, tgt_in, tgt_out)


def _filled(flat: NDArray[np.uint16], lengths: Lengths, at: int) -> Indices:
    """Lay tokens out as rows from column `at` on, with room for one special token in each."""
    out = np.full((len(lengths), int(lengths.max(initial=0)) + 1), PAD, np.int64)
    column = np.arange(out.shape[1])
    out[(column >= at) & (column < lengths[:, None] + at)] = flat
    return out
