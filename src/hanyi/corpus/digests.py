"""Digests of millions of rows in a file, and exact answers to which of them are equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from hanyi.corpus.keys import Keys

Mask = NDArray[np.bool_]
Groups = NDArray[np.uint8] | NDArray[np.uint16]

_DIGEST_BYTES = 16
_BLOCK_ROWS = 1 << 18
"""Digests read at a time."""
_SORTED_ROWS = 1 << 22
"""Digests sorted at a time, about: about 200 MB of memory."""
_BITMAP_BITS = 22


class DigestStore:
    """A growing column of 128-bit digests in a file, uint64 [rows, 2].

    The file is for one run on one machine: its numbers are in the machine's own order of bytes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self._file = path.open("wb")

    def __enter__(self) -> Self:
        """Open for writing."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file, which stays readable."""
        self._file.close()

    def append(self, digests: Keys) -> None:
        """Add the digests of the next rows, uint64 [rows, 2]."""
        self._file.write(np.ascontiguousarray(digests, np.uint64).data)
        self.rows += len(digests)

    def view(self) -> Keys:
        """Map the file into memory, uint64 [rows, 2], read-only."""
        self._flush()
        if not self.rows:
            return np.empty((0, 2), np.uint64)
        return np.memmap(self.path, np.uint64, "r", shape=(self.rows, 2))

    def blocks(self, rows: range | None = None) -> Iterator[tuple[int, Keys]]:
        """Read some rows (else all) in blocks: number of the first row, uint64 [some rows, 2]."""
        rows = range(self.rows) if rows is None else rows
        self._flush()
        with self.path.open("rb") as file:
            file.seek(rows.start * _DIGEST_BYTES)
            for first in rows[::_BLOCK_ROWS]:
                count = min(_BLOCK_ROWS, rows.stop - first)
                yield first, np.fromfile(file, np.uint64, 2 * count).reshape(-1, 2)

    def _flush(self) -> None:
        if not self._file.closed:
            self._file.flush()


def first_occurrence(store: DigestStore, alive: Mask, groups: Groups | None = None) -> Mask:
    """Mark rows whose digest occurred earlier among the rows that are alive, bool [rows].

    With `groups`, a number for each row, only digests within a group count as equal. Despite all
    marks, the first row of each digest stays unmarked, and so do all rows that are not alive.
    """
    repeated = np.zeros(store.rows, np.bool_)
    for _, later in _equal([store], alive, groups):
        repeated[later] = True
    return repeated


def links(stores: Sequence[DigestStore], alive: Mask) -> NDArray[np.int64]:
    """Give each row that is alive and has a digest that occurred in an earlier one with the first.

    Each row has a digest in every store, and it matters not in which of them one occurs. Returns
    int64 [links, 2] of (first row, later row).
    """
    found = [np.stack(pair, axis=1) for pair in _equal(stores, alive, None)]
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)


def reach(alive: Mask) -> range:
    """Give the shortest range of rows that holds all that are alive."""
    if not alive.any():
        return range(0)
    return range(int(alive.argmax()), len(alive) - int(alive[::-1].argmax()))


def members(store: DigestStore, alive: Mask, wanted: Keys) -> Mask:
    """Mark the rows that are alive and whose digest is one of `wanted`, uint64 [wanted, 2]."""
    among = Members(wanted)
    found = np.zeros(store.rows, np.bool_)
    for first, digests in store.blocks(reach(alive)):
        place = slice(first, first + len(digests))
        found[place] = among.contain(digests) & alive[place]
    return found


class Members:
    """A set of digests that answers for whole blocks."""

    def __init__(self, wanted: Keys) -> None:
        order = np.lexsort((wanted[:, 1], wanted[:, 0]))
        self._sorted = np.ascontiguousarray(wanted[order])
        upper = self._sorted[:, 0]
        _, counts = np.unique(upper, return_counts=True)
        self._longest = int(counts.max(initial=0))
        self._seen = np.zeros(1 << _BITMAP_BITS, np.bool_)
        self._seen[upper >> np.uint64(64 - _BITMAP_BITS)] = True

    def contain(self, digests: Keys) -> Mask:
        """Tell for each digest, uint64 [rows, 2], whether it is in the set."""
        found: Mask = self._seen[digests[:, 0] >> np.uint64(64 - _BITMAP_BITS)]
        rows = np.flatnonzero(found)
        some = digests[rows]
        places = np.searchsorted(self._sorted[:, 0], some[:, 0])
        equal = np.zeros(len(rows), np.bool_)
        for step in range(self._longest):
            nearby = self._sorted[np.minimum(places + step, len(self._sorted) - 1)]
            equal |= (nearby == some).all(axis=1)
        found[rows] = equal
        return found


def _equal(
    stores: Sequence[DigestStore], alive: Mask, groups: Groups | None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Give the first row of its digest and a later one, as two arrays for each part of the rows.

    A part holds the digests that begin with the same bits, so that it can be sorted by itself.
    """
    within = reach(alive)
    bits = max(1, (len(stores) * len(within) // _SORTED_ROWS).bit_length())
    for part in range(1 << bits):
        rows, digests = _part(stores, alive, within, part, bits)
        # Most rows have no twin: seen by sorting numbers alone, without their rows, which is fast.
        suspects = _suspects(digests[:, 0] << np.uint64(bits))
        rows, digests = rows[suspects], digests[suspects]
        if not len(rows):
            continue
        group = np.zeros(len(rows), np.uint8) if groups is None else groups[rows]
        order = np.lexsort((rows, group, digests[:, 1], digests[:, 0]))
        rows, digests, group = rows[order], digests[order], group[order]
        same = (digests[1:] == digests[:-1]).all(axis=1) & (group[1:] == group[:-1])
        begins = np.flatnonzero(np.append(True, ~same))
        first = np.repeat(rows[begins], np.diff(np.append(begins, len(rows))))
        later = first != rows
        yield first[later], rows[later]


def _suspects(numbers: NDArray[np.uint64]) -> Mask:
    """Mark all numbers that occur more than once, and few others."""
    ordered = np.sort(numbers)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    shift = np.uint64(64 - _BITMAP_BITS)
    seen = np.zeros(1 << _BITMAP_BITS, np.bool_)
    seen[twice >> shift] = True
    suspects: Mask = seen[numbers >> shift]
    return suspects


def _part(
    stores: Sequence[DigestStore], alive: Mask, within: range, part: int, bits: int
) -> tuple[NDArray[np.int64], Keys]:
    shift = np.uint64(64 - bits)
    rows, found = [np.empty(0, np.int64)], [np.empty((0, 2), np.uint64)]
    for store in stores:
        for first, digests in store.blocks(within):
            inside = digests[:, 0] >> shift == part
            inside &= alive[first : first + len(digests)]
            places = np.flatnonzero(inside)
            rows.append(places + first)
            found.append(digests[places])
    return np.concatenate(rows), np.concatenate(found)
