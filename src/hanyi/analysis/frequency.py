"""How well words come out that training saw often, seldom or never (Neubig et al. 2019)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hanyi.analysis.buckets import FREQUENCIES

UNSEEN = 0


class WordCounts(NamedTuple):
    """Words of a range of frequencies: in references, in translations and in both.

    A word is in both as often as it is in the row's translation, but no more often than in its
    reference.
    """

    reference: int
    hypothesis: int
    both: int

    @property
    def precision(self) -> float:
        """Give the share of the words of translations that the references have too."""
        return self.both / self.hypothesis if self.hypothesis else 0.0

    @property
    def recall(self) -> float:
        """Give the share of the words of references that were found."""
        return self.both / self.reference if self.reference else 0.0

    @property
    def f1(self) -> float:
        """Give the harmonic mean of both."""
        total = self.hypothesis + self.reference
        return 2 * self.both / total if total else 0.0


def by_frequency(
    references: Sequence[Counter[str]],
    hypotheses: Sequence[Counter[str]],
    seen: Mapping[str, int],
) -> list[WordCounts]:
    """Count the words of each range of `FREQUENCIES`, by the occurrences in `seen`."""
    both = Counter[str]()
    for reference, hypothesis in zip(references, hypotheses, strict=True):
        both.update(reference & hypothesis)
    sums = [_sums(counts, seen) for counts in (_total(references), _total(hypotheses), both)]
    return [WordCounts(*counts) for counts in zip(*sums, strict=True)]


def rarest(references: Sequence[Counter[str]], seen: Mapping[str, int]) -> NDArray[np.int64]:
    """Give for each reference how often its rarest word occurs, -1 where it has no words."""
    return np.array(
        [min((seen.get(word, UNSEEN) for word in counts), default=-1) for counts in references],
        np.int64,
    )


def _total(rows: Sequence[Counter[str]]) -> Counter[str]:
    total = Counter[str]()
    for counts in rows:
        total.update(counts)
    return total


def _sums(counts: Counter[str], seen: Mapping[str, int]) -> list[int]:
    frequencies = np.array([seen.get(word, UNSEEN) for word in counts], np.int64)
    weights = np.fromiter(counts.values(), np.float64, len(counts))
    sums = np.bincount(FREQUENCIES.places(frequencies), weights, len(FREQUENCIES.begins))
    return [int(each) for each in sums]
