"""What near-duplicates have in common: the short pieces of text of which a sentence is a set."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hanyi.corpus.keys import bytes_of

WIDTH = 6
"""Bytes of UTF-8 in a shingle: two Han characters, three Cyrillic or six Latin letters."""

SLICE_ROWS = 8192
"""Rows looked at together: more of them would not stay in the processor's cache."""

_MASK = np.uint64((1 << 8 * WIDTH) - 1)
_PADDING = b"\xff" * 8
_VALUE_BITS = np.uint64(8 * WIDTH)
_MOST_PAIRS = 1 << (64 - 8 * WIDTH)
_COMPARED = 1 << 20
"""Shingles compared at a time."""

Numbers = NDArray[np.int64]
Values = NDArray[np.uint64]


class Pieces:
    """The shingles of a slice of folded texts, as numbers of 48 bits.

    A shingle is `WIDTH` bytes of folded text that begin with a character. A shorter text is one
    shingle, filled up with a byte that UTF-8 never has. The text "" has none. As a shingle and its
    number are the same thing, nothing here rests on luck with hashes.
    """

    def __init__(self, folded: pa.StringArray) -> None:
        text, self.offsets = bytes_of(folded)
        self.bytes = np.frombuffer(b"".join((text, _PADDING)), np.uint8)
        count = int(self.offsets[-1])
        # Every byte begins a number here, whatever row or character it cuts; `places` sorts it out.
        self.windows: Values = np.ndarray((count,), "<u8", self.bytes, strides=(1,)) & _MASK
        self.lengths = np.diff(self.offsets)

    def valid(self, places: Numbers) -> tuple[Numbers, Numbers]:
        """Keep of ascending places those where a shingle of six bytes begins; add their rows."""
        places = places[self.bytes[places] & 0xC0 != 0x80]
        rows = np.searchsorted(self.offsets, places, side="right") - 1
        inside = places + WIDTH <= self.offsets[rows + 1]
        return places[inside], rows[inside]

    def short(self) -> tuple[Values, Numbers]:
        """Give the shingles of texts shorter than a shingle, and their rows."""
        rows = np.flatnonzero((self.lengths > 0) & (self.lengths < WIDTH))
        # Shifted by at most 40 of 64 bits: what stands behind the text makes room for 0xff.
        bits = (8 * self.lengths[rows]).astype(np.uint64)
        text = self.windows[self.offsets[rows]] & ((np.uint64(1) << bits) - np.uint64(1))
        return text | (_MASK >> bits << bits), rows

    def all(self) -> tuple[Values, Numbers]:
        """Give every shingle with its row, ordered by row; a row may have one several times."""
        places, rows = self.valid(np.arange(len(self.windows)))
        short, short_rows = self.short()
        rows = np.append(rows, short_rows)
        order = np.argsort(rows, kind="stable") if len(short) else slice(None)
        return np.append(self.windows[places], short)[order], rows[order]


def slices(folded: pa.StringArray) -> Iterator[tuple[int, pa.StringArray]]:
    """Cut a column into slices of `SLICE_ROWS`, each with the number of its first row."""
    for first in range(0, len(folded), SLICE_ROWS):
        yield first, folded.slice(first, SLICE_ROWS)


class Sets:
    """The distinct shingles of each text of a folded column, one text after the other.

    Those of text `n` are `values[begins[n] : begins[n] + sizes[n]]`, ascending; `rows` has the
    number of the text of each.
    """

    def __init__(self, folded: pa.StringArray) -> None:
        values, rows = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for first, some in slices(folded):
            found, places = Pieces(some).all()
            distinct = np.unique(places.astype(np.uint64) << _VALUE_BITS | found)
            values.append(distinct & _MASK)
            rows.append((distinct >> _VALUE_BITS).astype(np.int64) + first)
        self.values: Values = np.concatenate(values)
        self.rows: Numbers = np.concatenate(rows)
        self.sizes: Numbers = np.bincount(self.rows, minlength=len(folded))
        self.begins: Numbers = np.cumsum(self.sizes) - self.sizes

    def pick(self, rows: Numbers) -> tuple[Values, Numbers]:
        """Give the shingles of some texts, and for each the place of its text in `rows`."""
        sizes = self.sizes[rows]
        return self.values[ranges(self.begins[rows], sizes)], np.repeat(np.arange(len(rows)), sizes)


def similarities(one: Sets, ones: Numbers, other: Sets, others: Numbers) -> NDArray[np.float64]:
    """Give for pairs of texts the share of their shingles that is common to both (Jaccard)."""
    both = one.sizes[ones] + other.sizes[others]
    found = [np.empty(0)]
    for pairs in _portions(both):
        entries = [
            places.astype(np.uint64) << _VALUE_BITS | values
            for values, places in (one.pick(ones[pairs]), other.pick(others[pairs]))
        ]
        # Sorted, what both texts of a pair have stands twice.
        ordered = np.sort(np.concatenate(entries))
        twice = ordered[1:][ordered[1:] == ordered[:-1]] >> _VALUE_BITS
        common = np.bincount(twice.astype(np.int64), minlength=len(both[pairs]))
        found.append(common / np.maximum(1, both[pairs] - common))
    return np.concatenate(found)


def _portions(sizes: Numbers) -> Iterator[slice]:
    """Cut pairs into portions of about `_COMPARED` shingles, and few enough to be numbered."""
    totals = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        reached = totals[first] - sizes[first] + _COMPARED
        last = int(np.searchsorted(totals, reached, side="right"))
        last = min(max(last, first + 1), first + _MOST_PAIRS)
        yield slice(first, last)
        first = last


def ranges(begins: Numbers, counts: Numbers) -> Numbers:
    """Join the ranges of `counts` numbers from each of `begins` on."""
    ends = np.cumsum(counts)
    joined: Numbers = np.arange(counts.sum()) + np.repeat(begins - ends + counts, counts)
    return joined


def scatter(values: Values, seed: int) -> Values:
    """Mix numbers of 64 bits into others, one to one (the finaliser of SplitMix64)."""
    mixed: Values = values + np.uint64((0x9E3779B97F4A7C15 * (2 * seed + 1)) % (1 << 64))
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
