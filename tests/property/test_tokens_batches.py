"""Whatever the lengths, a plan covers each row once, within the budget, and is a pure function."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hanyi.tokens.batches import padding, plan

pairs = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=200)


def sides(lengths: list[tuple[int, int]]) -> tuple[Any, Any]:
    both = np.array(lengths, np.int32).reshape(-1, 2)
    return both[:, 0], both[:, 1]


@settings(max_examples=200, deadline=None)
@given(lengths=pairs, tokens=st.integers(1, 500), seed=st.integers(0, 5), epoch=st.integers(0, 5))
def test_each_row_once_within_the_budget(
    lengths: list[tuple[int, int]], tokens: int, seed: int, epoch: int
) -> None:
    src, tgt = sides(lengths)
    batches = plan(src, tgt, tokens=tokens, seed=seed, epoch=epoch)
    covered = [row for batch in batches for row in batch.tolist()]
    assert sorted(covered) == list(range(len(lengths)))
    for batch in batches:
        assert batch.dtype == np.int64
        longest = 1 + max(int(src[batch].max()), int(tgt[batch].max()))
        assert len(batch) == 1 or len(batch) * longest <= tokens
    assert 0.0 <= padding(batches, src, tgt) < 1.0


@settings(max_examples=100, deadline=None)
@given(
    lengths=pairs, tokens=st.integers(1, 500), seed=st.integers(0, 2**32), epoch=st.integers(0, 99)
)
def test_a_plan_is_a_pure_function(
    lengths: list[tuple[int, int]], tokens: int, seed: int, epoch: int
) -> None:
    src, tgt = sides(lengths)
    first = plan(src, tgt, tokens=tokens, seed=seed, epoch=epoch)
    np.random.default_rng().random()
    again = plan(src.copy(), tgt.copy(), tokens=tokens, seed=seed, epoch=epoch)
    assert [batch.tolist() for batch in first] == [batch.tolist() for batch in again]
    assert sides(lengths)[0].tolist() == src.tolist()


@settings(max_examples=100, deadline=None)
@given(lengths=pairs, data=st.data())
def test_only_the_listed_rows(lengths: list[tuple[int, int]], data: st.DataObject) -> None:
    src, tgt = sides(lengths)
    rows = data.draw(st.lists(st.sampled_from(range(len(lengths))))) if lengths else []
    batches = plan(src, tgt, tokens=100, seed=1, epoch=0, rows=np.array(rows, np.int64))
    assert sorted(row for batch in batches for row in batch.tolist()) == sorted(rows)
