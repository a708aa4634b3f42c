"""How sure a score is, and whether two systems differ: resampling of the rows of a test set.

The draws are those of sacrebleu with its usual seed, so its command line tells the same figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hanyi.metrics.statistics import Counts, Statistics

SEED = 12345
RESAMPLES = 1000  # of the bootstrap
TRIALS = 10_000  # of the approximate randomization
OUTSIDE = 40  # one resample in so many lies below the interval of 95%, and one above
CELLS = 1 << 22  # draws held at once
ALIGNED = 32  # booleans are drawn by 32, and what is left of them at the end of a call is lost

Scores = NDArray[np.float64]


class Comparison(NamedTuple):
    """One metric of two systems on the same rows."""

    baseline: float
    system: float
    p_value: float  # of a difference as large as this, were the systems the same

    @property
    def difference(self) -> float:
        """Give what the system has more than the baseline."""
        return self.system - self.baseline


def interval(statistics: Statistics) -> float:
    """Give half the width of the 95% confidence interval of a score (Koehn 2004)."""
    scores = np.sort(_resampled(statistics, RESAMPLES))
    lowest = len(scores) // OUTSIDE
    return float(scores[len(scores) - lowest - 1] - scores[lowest]) / 2


def bootstrap(baseline: Statistics, system: Statistics) -> Comparison:
    """Compare by paired bootstrap resampling (Koehn 2004)."""
    shifts = np.abs(_resampled(system, RESAMPLES) - _resampled(baseline, RESAMPLES))
    return _comparison(baseline, system, shifts - shifts.mean())


def randomization(baseline: Statistics, system: Statistics) -> Comparison:
    """Compare by paired approximate randomization (Riezler and Maxwell 2005)."""
    rng = np.random.default_rng(SEED)
    first, second = baseline.counts, system.counts
    total = first.sum(0) + second.sum(0)
    shifts = []
    for trials in _portions(TRIALS, len(first)):
        chosen = rng.integers(2, size=(trials, len(first)), dtype=bool)
        sums = chosen @ first + ~chosen @ second
        shifts.append(_scores(baseline, sums) - _scores(baseline, total - sums))
    return _comparison(baseline, system, np.abs(np.concatenate(shifts)))


Test = Callable[[Statistics, Statistics], Comparison]
TESTS: dict[str, Test] = {"bootstrap": bootstrap, "randomization": randomization}


def _comparison(baseline: Statistics, system: Statistics, shifts: Scores) -> Comparison:
    before, now = baseline.score(), system.score()
    # A tie counts, so that the same system twice has p 1; sacrebleu leaves ties out.
    beyond = int(np.sum(shifts >= abs(now - before)))
    return Comparison(before, now, (beyond + 1) / (len(shifts) + 1))


def _resampled(statistics: Statistics, resamples: int) -> Scores:
    """Give the score of each resample, `[resamples]`: as many rows, drawn with replacement."""
    rng = np.random.default_rng(SEED)
    rows = len(statistics.counts)
    scores = []
    for portion in _portions(resamples, rows):
        drawn = rng.choice(rows, size=(portion, rows), replace=True)
        drawn += rows * np.arange(portion)[:, None]
        times = np.bincount(drawn.ravel(), minlength=portion * rows).reshape(portion, rows)
        scores.append(_scores(statistics, times.astype(np.float64) @ statistics.counts))
    return np.concatenate(scores)


def _scores(statistics: Statistics, sums: Counts) -> Scores:
    return np.array([statistics.compute(one) for one in sums])


def _portions(count: int, rows: int) -> Iterator[int]:
    """Cut `count` draws of `rows` into portions that fit into memory."""
    most = max(CELLS // max(rows, 1) // ALIGNED, 1) * ALIGNED
    for start in range(0, count, most):
        yield min(most, count - start)
