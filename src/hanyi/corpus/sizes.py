"""How long the sentences of each split are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

RANGES = 50
"""Ranges of lengths, about so many at most; the last one holds whatever is longer."""

WITHIN = 0.999
"""Share of the sentences of each split and side that the other ranges cover, at least."""

Counts = NDArray[np.int64]


class Sizes:
    """Counts of sentences by split, side and characters."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], Counts] = {}

    def add(self, split: str, side: str, texts: pa.Array) -> None:
        """Count the sentences of a block."""
        sizes = np.asarray(pc.utf8_length(texts), np.int64)
        known = self._counts.get((split, side), np.zeros(0, np.int64))
        total = np.bincount(sizes, minlength=len(known)).astype(np.int64)
        total[: len(known)] += known
        self._counts[split, side] = total

    def shares(self) -> tuple[list[int], dict[tuple[str, str], list[float]]]:
        """Give where each range begins, and what share of its split and side lies in it."""
        counts = {key: found for key, found in self._counts.items() if found.any()}
        last = max((_size_within(found) for found in counts.values()), default=0)
        width = next(width for width in _round_numbers() if last < width * RANGES)
        begins = list(range(0, last + width + 1, width))
        return begins, {
            key: [float(part.sum() / found.sum()) for part in np.split(found, begins[1:])]
            for key, found in counts.items()
        }


def _size_within(counts: Counts) -> int:
    """Give the size that `WITHIN` of the sentences do not exceed."""
    reached = np.cumsum(counts) >= WITHIN * counts.sum()
    return int(np.argmax(reached))


def _round_numbers() -> Iterator[int]:
    for power in count():
        yield from (digit * 10**power for digit in (1, 2, 5))
