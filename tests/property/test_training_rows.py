from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hanyi.training.data import weighted
from hanyi.training.validation import spread


@given(st.lists(st.integers(0, 4), min_size=1, max_size=80), st.integers(1, 100))
def test_validation_rows_are_spread_over_the_corpora(corpus: list[int], count: int) -> None:
    numbers = np.array(corpus, np.uint8)
    rows = spread(numbers, count)
    assert len(rows) == len(set(rows.tolist())) == min(count, len(corpus))
    assert rows.tolist() == spread(numbers, count).tolist()
    sizes = {number: corpus.count(number) for number in set(corpus)}
    taken = {number: int((numbers[rows] == number).sum()) for number in sizes}
    # A corpus that gives less than another by more than one has no more to give.
    for number, share in taken.items():
        assert share == sizes[number] or share >= max(taken.values()) - 1
    for number, share in taken.items():
        own = np.flatnonzero(numbers == number)
        places = np.searchsorted(own, rows[numbers[rows] == number])
        gaps = np.diff(places)
        assert share < 2 or gaps.max() - gaps.min() <= 1


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=60),
    st.lists(st.decimals(0, 3, places=2).map(float), min_size=3, max_size=3),
    st.integers(0, 2**63 - 1),
    st.integers(0, 1000),
)
def test_each_row_occurs_as_often_as_its_corpus_says(
    corpus: list[int], weights: list[float], seed: int, epoch: int
) -> None:
    numbers = np.array(corpus, np.uint8)
    rows = weighted(numbers, weights, seed, epoch)
    assert rows.dtype == np.int64
    assert rows.tolist() == sorted(weighted(numbers, weights, seed, epoch).tolist())
    times = np.bincount(rows, minlength=len(corpus))
    for number, weight in enumerate(weights):
        found = times[numbers == number]
        assert ((found == math.floor(weight)) | (found == math.ceil(weight))).all()
        # The nearest numbers of rows: no corpus gets more or less than its share.
        assert abs(found.sum() - weight * len(found)) < 1
