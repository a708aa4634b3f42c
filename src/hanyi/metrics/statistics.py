"""What a metric counts in each row, from which scores, intervals and tests follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Statistics:
    """The counts of each row, `[rows, counts]`; a corpus's score follows from their sums.

    So the texts are looked at once, whatever the number of parts, resamples and tests.
    """

    counts: Counts
    compute: Callable[[Counts], float]  # a score from sums, `[counts]`
    signature: str

    def score(self) -> float:
        """Give the score of all rows."""
        return self.compute(self.counts.sum(0))

    def part(self, rows: NDArray[np.int64]) -> Statistics:
        """Give those of some rows, by their places."""
        return Statistics(self.counts[rows], self.compute, self.signature)
