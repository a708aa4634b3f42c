"""Batches by a budget of tokens: the plan of an epoch, its padding, and the arrays of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hanyi.tokens.vocab import BOS, EOS, PAD

Indices = NDArray[np.int64]
Lengths = NDArray[np.integer[Any]]


class Lines(Protocol):
    """Tokens of sentence pairs by row number: an encoded split, or sentences in memory."""

    @property
    def src_lengths(self) -> Lengths:
        """Give `[rows]`."""

    @property
    def tgt_lengths(self) -> Lengths:
        """Give `[rows]`."""

    def src_flat(self, rows: Indices) -> NDArray[np.uint16]:
        """Give the source tokens of the rows, one after the other."""

    def tgt_flat(self, rows: Indices) -> NDArray[np.uint16]:
        """Give the target tokens of the rows, one after the other."""


class Batch(NamedTuple):
    """One batch, `int64`, filled up with PAD; the target is shifted by one for teacher forcing."""

    src: Indices  # [batch, src_len], EOS included
    tgt_in: Indices  # [batch, tgt_len], BOS and the tokens
    tgt_out: Indices  # [batch, tgt_len], the tokens and EOS
    real: Indices  # [tokens], where the real target tokens stand in the flat tgt_out


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


def collate(lines: Lines, rows: Indices, multiple: int = 1) -> Batch:
    """Give the arrays of a batch, both lengths and the number of rows filled up to a multiple.

    Rows that fill up hold nothing but PAD.
    """
    rows = np.asarray(rows, np.int64)
    each = np.arange(len(rows))
    src_lengths, tgt_lengths = lines.src_lengths[rows], lines.tgt_lengths[rows]
    src_shape = _shape(src_lengths, multiple)
    tgt_shape = _shape(tgt_lengths, multiple)
    src_ids = _filled(lines.src_flat(rows), src_lengths, src_shape, at=0)
    src_ids[each, src_lengths] = EOS
    tgt = lines.tgt_flat(rows)
    tgt_in = _filled(tgt, tgt_lengths, tgt_shape, at=1)
    tgt_in[each, 0] = BOS
    tgt_out = _filled(tgt, tgt_lengths, tgt_shape, at=0)
    tgt_out[each, tgt_lengths] = EOS
    # Found here and not on the device, which would have to be waited for.
    return Batch(src_ids, tgt_in, tgt_out, real=np.flatnonzero(tgt_out != PAD))


def _shape(lengths: Lengths, multiple: int) -> tuple[int, int]:
    """Give rows and columns, with room for one special token in each row."""
    rows, columns = len(lengths), int(lengths.max(initial=0)) + 1
    return -(-rows // multiple) * multiple, -(-columns // multiple) * multiple


def _filled(flat: NDArray[np.uint16], lengths: Lengths, shape: tuple[int, int], at: int) -> Indices:
    """Lay tokens out as rows from column `at` on."""
    out = np.full(shape, PAD, np.int64)
    column = np.arange(shape[1])
    real = out[: len(lengths)]
    real[(column >= at) & (column < lengths[:, None] + at)] = flat
    return out
