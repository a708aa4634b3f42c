"""Search for near-duplicates within a corpus of any size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from hanyi.corpus.digests import DigestStore, Mask, links
from hanyi.corpus.keys import bytes_of
from hanyi.corpus.shingles import (
    Numbers,
    Pieces,
    Sets,
    Values,
    ranges,
    scatter,
    similarities,
    slices,
)
from hanyi.corpus.workers import ordered

BAND = 4
"""Smallest hashes in a band."""
SURE = 0.98
"""Chance that a pair of rows just similar enough becomes a candidate; it grows with similarity."""

_BATCH = 1 << 14
"""Candidates compared at a time."""


class Texts(NamedTuple):
    """A block of pairs: ascending numbers of the rows, int64 [rows], and their sides, folded."""

    rows: Numbers
    src: pa.StringArray
    tgt: pa.StringArray


def near_duplicates(
    blocks: Callable[[], Iterable[Texts]], similarity: float, work: Path, workers: int
) -> Numbers:
    """Find the rows that resemble an earlier row, which stays, on both sides.

    Returns int64 [found, 2] of (row, the earlier one), ascending. `blocks` is called twice and
    gives the same rows in ascending order, cut in any way. Candidates come from MinHash (Broder
    1997) with bands over the shingles of both sides together, which are at least as similar as the
    less similar side; each is then compared by the definition of `NearIndex`. So all that is found
    is near, and of what is near, little is missed (`SURE`). `work` is a folder for large files.
    """
    bands = _bands(similarity)

    def sign(block: Texts) -> tuple[Numbers, Values]:
        return block.rows, _signatures(block, bands)

    rows = [np.empty(0, np.int64)]
    with ExitStack() as opened:
        stores = [
            opened.enter_context(DigestStore(work / f"band{number}.keys"))
            for number in range(bands)
        ]
        for numbers, signatures in ordered(sign, blocks(), workers):
            rows.append(numbers)
            for store, digests in zip(stores, signatures, strict=True):
                store.append(digests)
    places = np.concatenate(rows)
    pairs = _candidates(stores, len(places))
    wanted = np.zeros(len(places), np.bool_)
    wanted[pairs] = True
    texts = _Kept(work, blocks(), wanted)
    batches = [pairs[first : first + _BATCH] for first in range(0, len(pairs), _BATCH)]
    near = [_near(texts, batch, similarity) for batch in batches]
    return places[_beside_those_that_stay(np.concatenate([pairs[:0], *near]))]


def _bands(similarity: float) -> int:
    """Choose as many bands as it takes to find a pair that is just similar enough."""
    agree = similarity**BAND
    return 1 if agree >= SURE else math.ceil(math.log(1 - SURE) / math.log(1 - agree))


def _signatures(block: Texts, bands: int) -> Values:
    """Give the digests of each pair's bands of smallest hashes, uint64 [bands, rows, 2]."""
    multipliers = scatter(np.arange(BAND * bands, dtype=np.uint64), 2) | np.uint64(1)
    smallest = np.zeros((len(multipliers), len(block.rows)), np.uint64)
    columns = [slices(side) for side in (block.src, block.tgt)]
    for (first, src), (_, tgt) in zip(*columns, strict=True):
        found = [Pieces(side).all() for side in (src, tgt)]
        # Differently scattered, a shingle of one side is no shingle of the other.
        values = np.concatenate([scatter(values, side) for side, (values, _) in enumerate(found)])
        rows = np.concatenate([rows for _, rows in found])
        order = np.argsort(rows, kind="stable")
        values, rows = values[order], rows[order]
        begins = np.flatnonzero(np.append(True, rows[1:] != rows[:-1])[: len(rows)])
        for number, multiplier in enumerate(multipliers):
            smallest[number, first + rows[begins]] = np.minimum.reduceat(
                values * multiplier, begins
            )
    digests = np.zeros((bands, len(block.rows), 2), np.uint64)
    for number, band in enumerate(smallest.reshape(bands, BAND, -1)):
        for half in (0, 1):
            for hashes in band:
                digests[number, :, half] = scatter(digests[number, :, half] ^ hashes, half)
    return digests


def _candidates(stores: list[DigestStore], rows: int) -> Numbers:
    """Give pairs of places, the earlier first, of rows that agree in a band.

    Each row is paired with the first and with the last one before it.
    """
    found = [np.empty(0, np.int64)]
    for store in stores:
        first, later = links([store], np.ones(rows, np.bool_)).T
        order = np.lexsort((later, first))
        first, later = first[order], later[order]
        before = np.append(first[:1], np.where(first[1:] == first[:-1], later[:-1], first[1:]))
        found += [first * rows + later, before * rows + later]
    return np.stack(np.divmod(np.unique(np.concatenate(found)), max(1, rows)), axis=1)


class _Kept:
    """Folded texts of some rows in files, to be read in any order."""

    def __init__(self, work: Path, blocks: Iterable[Texts], wanted: Mask) -> None:
        self._place = np.cumsum(wanted) - 1
        self._paths = [work / f"{side}.folded" for side in ("src", "tgt")]
        sizes: list[list[Numbers]] = [[np.zeros(1, np.int64)] for _ in self._paths]
        first = 0
        files = [path.open("wb") for path in self._paths]
        for block in blocks:
            mask = pa.array(wanted[first : first + len(block.rows)])
            first += len(block.rows)
            for file, found, side in zip(files, sizes, (block.src, block.tgt), strict=True):
                text, offsets = bytes_of(side.filter(mask))
                found.append(np.diff(offsets))
                file.write(text)
        for file in files:
            file.close()
        self._begins = [np.cumsum(np.concatenate(found)) for found in sizes]

    def read(self, places: Numbers) -> list[pa.StringArray]:
        """Give the source and the target texts of rows, by their places among all rows."""
        columns = []
        rows = self._place[places]
        for path, begins in zip(self._paths, self._begins, strict=True):
            counts = begins[rows + 1] - begins[rows]
            text = np.memmap(path, np.uint8, "r") if begins[-1] else np.empty(0, np.uint8)
            offsets = np.append(0, np.cumsum(counts)).astype(np.int32)
            buffers = [pa.py_buffer(offsets), pa.py_buffer(text[ranges(begins[rows], counts)])]
            columns.append(pa.StringArray.from_buffers(len(rows), *buffers))
        return columns


def _near(texts: _Kept, pairs: Numbers, similarity: float) -> Numbers:
    """Keep the pairs of places that are near on both sides."""
    places, ends = np.unique(pairs, return_inverse=True)
    ends = ends.reshape(pairs.shape)
    near = np.ones(len(pairs), np.bool_)
    for column in texts.read(places):
        sets = Sets(column)
        near &= similarities(sets, ends[:, 0], sets, ends[:, 1]) >= similarity
    return pairs[near]


def _beside_those_that_stay(near: Numbers) -> Numbers:
    """Give (later, earlier) for each later place that is near to an earlier one that stays."""
    found: dict[int, int] = {}
    for later, earlier in near[np.lexsort((near[:, 0], near[:, 1]))][:, ::-1].tolist():
        if earlier not in found:
            found.setdefault(later, earlier)
    return np.array(list(found.items()), np.int64).reshape(-1, 2)
