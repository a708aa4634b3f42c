"""Digests in a file: appended, read back, and the first of equal ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hanyi.corpus import digests as digests_module
from hanyi.corpus.digests import DigestStore, first_occurrence, links, members

DIGESTS = np.array([[5, 1], [5, 2], [1 << 63, 0], [5, 1], [1 << 63, 0], [5, 1]], np.uint64)
ALL = np.ones(len(DIGESTS), np.bool_)


@pytest.fixture
def store(tmp_path: Path) -> DigestStore:
    with DigestStore(tmp_path / "keys") as store:
        for digest in DIGESTS:
            store.append(digest[None])
    return store


def test_what_is_appended_is_read(store: DigestStore) -> None:
    assert store.rows == len(DIGESTS)
    assert (store.view() == DIGESTS).all()
    [(first, block)] = store.blocks(range(2, 5))
    assert first == 2
    assert (block == DIGESTS[2:5]).all()


def test_it_can_be_read_while_it_grows(tmp_path: Path) -> None:
    with DigestStore(tmp_path / "keys") as store:
        assert store.view().shape == (0, 2)
        store.append(DIGESTS)
        assert (store.view() == DIGESTS).all()
        store.append(DIGESTS[:1])
        assert [len(block) for _, block in store.blocks()] == [7]


def test_the_first_alive_row_stays(store: DigestStore) -> None:
    assert np.flatnonzero(first_occurrence(store, ALL)).tolist() == [3, 4, 5]
    alive = np.array([False, True, True, True, False, True])
    assert np.flatnonzero(first_occurrence(store, alive)).tolist() == [5]
    groups = np.array([0, 0, 0, 1, 0, 1], np.uint16)
    assert np.flatnonzero(first_occurrence(store, ALL, groups)).tolist() == [4, 5]
    assert not first_occurrence(store, ~ALL).any()


def test_links_lead_to_the_first_row(store: DigestStore, tmp_path: Path) -> None:
    assert sorted(links([store], ALL).tolist()) == [[0, 3], [0, 5], [2, 4]]
    with DigestStore(tmp_path / "other") as other:
        other.append(DIGESTS[[1, 0, 0, 0, 0, 2]])
    found = links([store, other], ALL).tolist()
    assert {tuple(link) for link in found} == {(0, row) for row in range(1, 6)} | {(2, 4), (2, 5)}


def test_members(store: DigestStore) -> None:
    wanted = np.array([[1 << 63, 0], [5, 2], [5, 3]], np.uint64)
    assert np.flatnonzero(members(store, ALL, wanted)).tolist() == [1, 2, 4]
    assert not members(store, ALL, wanted[:0]).any()
    assert not members(store, ~ALL, wanted).any()


def test_parts_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    digests = random.integers(0, 1 << 64, (3000, 2), np.uint64)[random.integers(0, 3000, 9000)]
    alive = random.random(9000) < 0.9
    with DigestStore(tmp_path / "keys") as store:
        store.append(digests)
    whole = first_occurrence(store, alive)
    monkeypatch.setattr(digests_module, "_BLOCK_ROWS", 100)
    monkeypatch.setattr(digests_module, "_SORTED_ROWS", 500)
    assert (first_occurrence(store, alive) == whole).all()
    assert len(np.unique(digests[alive], axis=0)) == alive.sum() - whole.sum()
