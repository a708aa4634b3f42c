"""Sentences of a batch segmented anew for each epoch (Provilkov et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.bpe_dropout import BpeDropout
from hanyi.tokens.shards import EncodedSplit

Ids = NDArray[np.uint16]


class Segmented(NamedTuple):
    """Sentences in memory, to be read like those of an encoded split."""

    src: list[Ids]
    tgt: list[Ids]
    src_lengths: NDArray[np.int64]  # [rows]
    tgt_lengths: NDArray[np.int64]  # [rows]

    def src_flat(self, rows: NDArray[np.int64]) -> Ids:
        """Give the source tokens of the rows, one after the other."""
        return np.concatenate([self.src[row] for row in rows.tolist()])

    def tgt_flat(self, rows: NDArray[np.int64]) -> Ids:
        """Give the target tokens of the rows, one after the other."""
        return np.concatenate([self.tgt[row] for row in rows.tolist()])


class Segmenter:
    """Leaves out merges of both tokenizers at random."""

    def __init__(self, src: Tokenizer, tgt: Tokenizer, probability: float) -> None:
        self._src = BpeDropout(src, probability)
        self._tgt = BpeDropout(tgt, probability)

    def __call__(
        self, split: EncodedSplit, rows: NDArray[np.int64], rng: np.random.Generator
    ) -> Segmented:
        """Segment rows of a split; equal states of `rng` give equal tokens."""
        src = self._src([split.src(int(row)) for row in rows], rng)
        tgt = self._tgt([split.tgt(int(row)) for row in rows], rng)
        return Segmented(src, tgt, _lengths(src), _lengths(tgt))


def _lengths(sentences: Sequence[Ids]) -> NDArray[np.int64]:
    return np.array([len(ids) for ids in sentences], np.int64)
