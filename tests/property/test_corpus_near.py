"""Keys, digests, near-duplicates and splits are what their definitions say, however rows come."""

from __future__ import annotations

import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hanyi.corpus import digests as digests_module
from hanyi.corpus import keys as keys_module
from hanyi.corpus import near as near_module
from hanyi.corpus import shingles as shingles_module
from hanyi.corpus import splits as splits_module
from hanyi.corpus.digests import DigestStore, first_occurrence, links, members
from hanyi.corpus.keys import fold, fold_column, pair_keys, sentence_keys
from hanyi.corpus.near import NearIndex
from hanyi.corpus.shingles import Numbers
from hanyi.corpus.splits import LEAST_SHARE, split_off
from hanyi.errors import DataError

any_text = st.text(st.characters(exclude_categories=["Cs"]))
PIECES = [*"abcABC12 ,。！好你我他ßﬁ℃½İǅ\u200b\u3000\u0301ａ가𠮷😀", "", "the ", "说话"]
some_text = st.one_of(any_text, st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
similar = st.lists(
    st.sampled_from(["abc", "好", "你", "说", "ab", "b", "1", "é"]), max_size=14
).map("".join)
similarities = st.sampled_from([0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0])
few_digests = st.lists(
    st.tuples(st.sampled_from([0, 1, 1 << 63, (1 << 64) - 1]), st.integers(0, 2)), max_size=60
).map(lambda rows: np.array(rows, np.uint64).reshape(-1, 2))


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few rows fill several slices, blocks and parts."""
    monkeypatch.setattr(keys_module, "_SLICE_ROWS", 7)
    monkeypatch.setattr(shingles_module, "SLICE_ROWS", 5)
    monkeypatch.setattr(near_module, "_EXPANDED", 20)
    monkeypatch.setattr(shingles_module, "_COMPARED", 9)
    monkeypatch.setattr(shingles_module, "_MOST_PAIRS", 3)
    monkeypatch.setattr(digests_module, "_BLOCK_ROWS", 11)
    monkeypatch.setattr(digests_module, "_SORTED_ROWS", 13)
    monkeypatch.setattr(splits_module, "FEW", 1)


def column(texts: list[str]) -> pa.StringArray:
    """Give an array that begins inside another one, as slices do."""
    return pa.array(["before", *texts, "after"], pa.string()).slice(1, len(texts))


def number(data: bytes) -> tuple[int, int]:
    value = xxhash.xxh3_128_intdigest(data)
    return value >> 64, value & ((1 << 64) - 1)


def plain_fold(text: str) -> str:
    folded = "".join(unicodedata.normalize("NFKC", char).casefold() for char in text)
    return "".join(char for char in folded if unicodedata.category(char)[0] not in "PZC") or text


@settings(deadline=None)
@given(st.lists(some_text, max_size=20))
def test_keys_are_their_definition(texts: list[str]) -> None:
    assert [fold(text) for text in texts] == [plain_fold(text) for text in texts]
    assert fold_column(column(texts)).to_pylist() == [plain_fold(text) for text in texts]
    assert list(map(tuple, sentence_keys(column(texts)).tolist())) == [
        number(plain_fold(text).encode()) for text in texts
    ]
    others = texts[::-1]
    assert list(map(tuple, pair_keys(column(texts), column(others)).tolist())) == [
        number(src.encode() + b"\xff" + tgt.encode())
        for src, tgt in zip(texts, others, strict=True)
    ]


def shingles(text: str) -> set[bytes]:
    data = fold(text).encode()
    if len(data) < 6:
        return {data} - {b""}
    begins = [place for place in range(len(data) - 5) if data[place] & 0xC0 != 0x80]
    return {data[place : place + 6] for place in begins}


def near(one: str, other: str, similarity: float) -> bool:
    ours, theirs = shingles(one), shingles(other)
    return bool(ours and theirs) and len(ours & theirs) / len(ours | theirs) >= similarity


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(similar, some_text), max_size=12),
    st.lists(st.one_of(similar, some_text), max_size=25),
    similarities,
)
def test_near_pairs_are_their_definition(
    held: list[str], texts: list[str], similarity: float
) -> None:
    folded = fold_column(column(texts))
    index = NearIndex(fold_column(column(held)), similarity)
    expected = [
        [row, other]
        for row, text in enumerate(texts)
        for other, sentence in enumerate(held)
        if near(text, sentence, similarity)
    ]
    assert index.pairs(folded).tolist() == expected
    first = [
        min((other for at, other in expected if at == row), default=-1) for row in range(len(texts))
    ]
    assert index.matches(folded).tolist() == first


@contextmanager
def stored(digests: NDArray[np.uint64], cut: int) -> Iterator[DigestStore]:
    with tempfile.TemporaryDirectory() as place, DigestStore(Path(place) / "digests") as store:
        store.append(digests[:cut])
        store.append(digests[cut:])
        yield store


@settings(deadline=None)
@given(few_digests, st.data())
def test_digests_are_compared_exactly(digests: NDArray[np.uint64], data: st.DataObject) -> None:
    rows = len(digests)
    alive = data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows), "alive")
    groups = data.draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows), "groups")
    wanted = data.draw(few_digests, "wanted")
    seen: dict[tuple[int, ...], int] = {}
    repeated, linked = [], []
    grouped: set[tuple[int, ...]] = set()
    for row, digest in enumerate(map(tuple, digests.tolist())):
        repeated.append(alive[row] and (groups[row], *digest) in grouped)
        if alive[row]:
            grouped.add((groups[row], *digest))
            if seen.setdefault(digest, row) != row:
                linked.append((seen[digest], row))
    among = set(map(tuple, wanted.tolist()))
    mask = np.array(alive, np.bool_)
    with stored(digests, data.draw(st.integers(0, rows), "cut")) as store:
        marks = first_occurrence(store, mask, np.array(groups, np.uint8))
        assert marks.tolist() == repeated
        assert sorted(map(tuple, links([store], mask).tolist())) == sorted(linked)
        assert members(store, mask, wanted).tolist() == [
            alive[row] and digest in among
            for row, digest in enumerate(map(tuple, digests.tolist()))
        ]
        assert (store.view() == digests).all()


sentences = st.integers(0, 50)


@settings(deadline=None)
@given(
    st.lists(st.tuples(sentences, sentences), min_size=1, max_size=50),
    st.lists(st.tuples(st.integers(0, 49), st.integers(0, 49)), max_size=25),
    st.integers(0, 10),
    st.integers(0, 10),
    st.randoms(use_true_random=False),
)
def test_no_link_crosses_a_split(
    pairs: list[tuple[int, int]],
    near_pairs: list[tuple[int, int]],
    test: int,
    valid: int,
    random: Random,
) -> None:
    near_pairs = [pair for pair in near_pairs if max(pair) < len(pairs)]
    wanted = {"test": test, "valid": valid}

    def split(order: list[int]) -> dict[str, set[int]] | None:
        """Split the rows in another order; give the rows as first numbered."""
        place = {row: position for position, row in enumerate(order)}
        around = [(place[one], place[two]) for one, two in near_pairs]
        around += [(two, one) for one, two in around]

        def find_near(rows: Numbers) -> Numbers:
            found = [link for link in around if link[1] in set(rows.tolist())]
            return np.array(found, np.int64).reshape(-1, 2)

        keys = np.array([[pairs[row] for row in order]] * 2, np.uint64).transpose(2, 1, 0)
        everyone = np.ones(len(order), np.bool_)
        with stored(keys[0], 0) as src, stored(keys[1], 0) as tgt:
            try:
                chosen = split_off("mine", [src, tgt], everyone, wanted, 1, find_near=find_near)
            except DataError:
                return None
        return {name: {order[row] for row in rows.tolist()} for name, rows in chosen.items()}

    rows = list(range(len(pairs)))
    chosen = split(rows)
    assert split(random.sample(rows, len(rows))) == chosen
    if chosen is None:
        return
    for name, count in wanted.items():
        assert LEAST_SHARE * count <= len(chosen[name]) <= count
    split_of = {row: name for name, members in chosen.items() for row in members}
    assert all(split_of.get(one) == split_of.get(two) for one, two in near_pairs)
    for one in rows:
        for two in rows:
            if set(pairs[one]) & set(pairs[two]):
                assert split_of.get(one) == split_of.get(two)
