"""Token ids of many rows, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Flat(NamedTuple):
    """Rows of token ids without a list for each."""

    lengths: NDArray[np.int32]  # [rows], in tokens
    ids: NDArray[np.uint16]  # [tokens], row after row

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Flat:
        """Join lists of ids."""
        lengths = np.fromiter(map(len, rows), np.int32, len(rows))
        count = int(lengths.sum())
        return cls(lengths, np.fromiter(chain.from_iterable(rows), np.uint16, count))

    def only(self, rows: NDArray[np.bool_]) -> Flat:
        """Give the rows that are marked, `[rows]`."""
        return Flat(self.lengths[rows], self.ids[np.repeat(rows, self.lengths)])

    def cut(self, most: int) -> Flat:
        """Give the rows with their first `most` tokens."""
        starts = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        within = np.arange(len(self.ids)) - np.repeat(starts, self.lengths)
        return Flat(np.minimum(self.lengths, np.int32(most)), self.ids[within < most])
