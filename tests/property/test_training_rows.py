from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hanyi.training.data import repeated
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
    st.lists(st.integers(0, 3), min_size=3, max_size=3),
)
def test_each_row_occurs_as_often_as_its_corpus_says(corpus: list[int], times: list[int]) -> None:
    names = ("a", "b", "c")
    expected = [row for row, number in enumerate(corpus) for _ in range(times[number])]
    if expected:
        found = repeated(np.array(corpus, np.uint8), names, dict(zip(names, times, strict=True)))
        assert sorted(found.tolist()) == expected
    plain = repeated(np.array(corpus, np.uint8), names, {})
    assert plain.tolist() == list(range(len(corpus)))
