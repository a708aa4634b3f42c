"""Minimum Bayes risk: the translation that the others agree with most, not the likeliest one.

Of the translations of a row, each is judged by its mean sentence chrF against all the others, as if
they were references (Kumar and Byrne 2004; with samples, Eikema and Aziz 2020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

CHAR_ORDER = 6  # the longest n-grams, in characters
BETA = 2  # recall counts so many times as much as precision


def rank(texts: Sequence[str], scores: Sequence[float]) -> list[int]:
    """Give the places of the translations of a row, the one most like the others first.

    Where two are equally so, the one with the higher score comes first, then the earlier one.
    """
    utilities = expected_utilities(texts)
    # Equal sums that were added in another order must be equal here too.
    keys = [(-round(utility, 9), -score) for utility, score in zip(utilities, scores, strict=True)]
    return sorted(range(len(texts)), key=keys.__getitem__)


def expected_utilities(texts: Sequence[str]) -> list[float]:
    """Give the mean sentence chrF, 0 to 100, of each text against the others; 100 if it is alone.

    A text that comes twice is one of the others for itself.
    """
    if len(texts) < 2:
        return [100.0 for _ in texts]
    counts = Counter(texts)
    weights = np.array(list(counts.values()))
    scores = chrf_matrix(list(counts))
    sums = scores @ weights - scores.diagonal()
    means = dict(zip(counts, (sums / (len(texts) - 1)).tolist(), strict=True))
    return [means[text] for text in texts]


def chrf_matrix(texts: Sequence[str]) -> NDArray[np.float64]:
    """Give sentence chrF, 0 to 100, of each text (row) with each as its reference (column).

    The same as sacrebleu's (Popović 2015), but each text is taken apart once, and all are compared
    at once. An empty text has 0, even against another.
    """
    precision = np.zeros((len(texts), len(texts)))
    recall = np.zeros_like(precision)
    orders = np.zeros_like(precision)
    bare = ["".join(text.split()) for text in texts]
    for order in range(1, CHAR_ORDER + 1):
        counts = _count(bare, order)
        totals = counts.sum(axis=1)
        matches = np.stack([np.minimum(own, counts).sum(axis=1) for own in counts])
        both = (totals[:, None] > 0) & (totals > 0)  # one that is too short for n-grams has no say
        precision += np.divide(matches, totals[:, None], where=both, out=np.zeros_like(precision))
        recall += np.divide(matches, totals, where=both, out=np.zeros_like(recall))
        orders += both
    precision /= np.maximum(orders, 1)
    recall /= np.maximum(orders, 1)
    weight = BETA**2
    sums = weight * precision + recall
    scores: NDArray[np.float64] = np.divide(
        100 * (1 + weight) * precision * recall, sums, where=sums > 0, out=np.zeros_like(sums)
    )
    return scores


def _count(texts: Sequence[str], order: int) -> NDArray[np.int32]:
    """Count the n-grams of an order in each text, `[texts, distinct n-grams]`."""
    numbers: dict[str, int] = {}
    runs = [
        [
            numbers.setdefault(text[start : start + order], len(numbers))
            for start in range(len(text) - order + 1)
        ]
        for text in texts
    ]
    counts = np.zeros((len(texts), len(numbers)), dtype=np.int32)
    for row, run in enumerate(runs):
        counts[row] = np.bincount(np.array(run, dtype=np.int64), minlength=len(numbers))
    return counts
