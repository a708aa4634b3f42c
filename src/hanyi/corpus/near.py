"""Exact search for near-duplicates of held-out sentences in a corpus of any size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from hanyi.corpus.shingles import (
    Numbers,
    Pieces,
    Sets,
    Values,
    ranges,
    similarities,
    slices,
)

_SHARED = (2, 6)
_SHARED_PART = 4
"""A candidate shares a quarter of a sentence's shingles, at least 2 and at most 6 (if there are so
many), with its rare ones. With fewer there are too many candidates, with more too many rare ones.
"""
_NEVER = 255
_SLOT_BITS = 21
_SCATTER = np.uint64(0x9E3779B97F4A7C15)
_EXPANDED = 1 << 20
"""Pairs looked at together, of a row and a held-out sentence that share a rare shingle."""
_SLACK = 1e-9
"""Keeps rounding from making a bound too tight; the last test is the definition itself."""


class NearIndex:
    """Held-out sentences, ready to be compared with every sentence of a corpus.

    Two sentences are near-duplicates when the sets of shingles of their folded texts are similar:
    of all shingles of both, at least the share `similarity` is common (Jaccard), above 0 and at
    most 1. The answers are exact. The speed comes from never comparing most sentences: a
    near-duplicate of a sentence with `a` shingles has at least `similarity * a` of them, hence at
    least `n` of any `a - similarity * a + n` of them; the rarest are looked for (prefix filtering,
    Chaudhuri et al. 2006). All texts are given folded (`keys.fold_column`).
    """

    def __init__(self, folded: pa.StringArray, similarity: float) -> None:
        self._similarity = similarity
        self._sets = Sets(folded)
        values, rows, sizes = self._sets.values, self._sets.rows, self._sets.sizes
        least = np.ceil(similarity * sizes - _SLACK).astype(np.int64)
        self._shared = np.minimum(least, np.clip(sizes // _SHARED_PART, *_SHARED))
        _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
        rare = _rarest(rows, counts[numbers], sizes - least + self._shared)
        self._rare = _Lookup(values[rare])
        places = self._rare.find(values[rare])
        self._postings = rows[rare][np.lexsort((rows[rare], places))]
        self._begins = np.append(0, np.cumsum(np.bincount(places)))
        # For each slot, the fewest shingles that a candidate must share for one of them to count.
        self._least = np.full(1 << _SLOT_BITS, _NEVER, np.uint8)
        fewest = self._shared[rows[rare]].astype(np.uint8)
        np.minimum.at(self._least, _slots(values[rare]), fewest)

    def pairs(self, folded: pa.StringArray) -> Numbers:
        """Give every near pair, int64 [pairs, 2] of (row, number of the held-out sentence).

        Ordered by row, then number.
        """
        found = [np.empty((0, 2), np.int64)]
        found += [np.stack(pairs, axis=1) for pairs in self._found(folded)]
        return np.concatenate(found)

    def matches(self, folded: pa.StringArray) -> Numbers:
        """Give for each text the smallest number of a near held-out sentence, or -1."""
        matched = np.full(len(folded), -1, np.int64)
        for rows, held in self._found(folded):
            some, first = np.unique(rows, return_index=True)
            matched[some] = held[first]
        return matched

    def _found(self, folded: pa.StringArray) -> Iterator[tuple[Numbers, Numbers]]:
        """Give rows with near held-out sentences, ordered, in portions that end with a row."""
        waiting = list(slices(folded))[::-1]
        while waiting:
            first, some = waiting.pop()
            where, rows = self._known(Pieces(some))
            counts = self._begins[where + 1] - self._begins[where]
            if len(some) > 1 and counts.sum() > _EXPANDED:
                # Many sentences of one pattern, here and held out: memory would not suffice.
                half = len(some) // 2
                waiting += [(first + half, some.slice(half)), (first, some.slice(0, half))]
                continue
            held = self._postings[ranges(self._begins[where], counts)]
            rows, held = self._candidates(np.repeat(rows, counts), held)
            if rows.size:
                rows, held = self._verified(some, rows, held)
                yield rows + first, held

    def _known(self, pieces: Pieces) -> tuple[Numbers, Numbers]:
        """Give the numbers of rare shingles that occur, and their rows."""
        least = self._least.take(_slots(pieces.windows))
        places, rows = pieces.valid(np.flatnonzero(least != _NEVER))
        enough = np.bincount(rows, minlength=1)[rows] >= least[places]
        short, short_rows = pieces.short()
        where = self._rare.find(np.append(pieces.windows[places[enough]], short))
        known = where >= 0
        return where[known], np.append(rows[enough], short_rows)[known]

    def _candidates(self, rows: Numbers, held: Numbers) -> tuple[Numbers, Numbers]:
        """Keep of pairs that share a rare shingle those that share enough of them, each once."""
        number = max(1, len(self._shared))
        pairs, shared = np.unique(rows * number + held, return_counts=True)
        rows, held = np.divmod(pairs, number)
        hopeful = shared >= self._shared[held]
        return rows[hopeful], held[hopeful]

    def _verified(
        self, folded: pa.StringArray, rows: Numbers, held: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Keep the pairs that are near by definition."""
        distinct, places = np.unique(rows, return_inverse=True)
        sets = Sets(folded.take(pa.array(distinct)))
        sizes, held_sizes = sets.sizes[places], self._sets.sizes[held]
        smaller, larger = np.minimum(sizes, held_sizes), np.maximum(sizes, held_sizes)
        fits = smaller >= self._similarity * larger - _SLACK
        rows, held, places = rows[fits], held[fits], places[fits]
        near = similarities(sets, places, self._sets, held) >= self._similarity
        return rows[near], held[near]


class _Lookup:
    """Distinct numbers of 64 bits, numbered in an order of their own."""

    def __init__(self, values: Values) -> None:
        self._sorted = np.unique(values * _SCATTER)
        bits = max(1, (4 * len(self._sorted)).bit_length())
        self._shift = np.uint64(64 - bits)
        slots = self._sorted >> self._shift
        counts = np.bincount(slots.astype(np.int64), minlength=1 << bits)
        self._begins = np.cumsum(counts) - counts
        self._longest = int(counts.max())
        self._sorted = np.append(self._sorted, np.uint64(0))

    def find(self, values: Values) -> Numbers:
        """Give the number of each value, or -1."""
        mixed = values * _SCATTER
        places: Numbers = self._begins[mixed >> self._shift]
        last = len(self._sorted) - 1
        for _ in range(self._longest - 1):
            places += (self._sorted[places] < mixed) & (places < last)
        places[(self._sorted[places] != mixed) | (places == last)] = -1
        return places


def _rarest(rows: Numbers, frequencies: Numbers, wanted: Numbers) -> Numbers:
    """Choose of each row's shingles as many as wanted, those with the lowest frequencies."""
    order = np.lexsort((frequencies, rows))
    place_in_row = np.arange(len(rows)) - np.searchsorted(rows, rows)
    return order[place_in_row < wanted[rows]]


def _slots(values: Values) -> Numbers:
    slots = values * _SCATTER
    slots >>= np.uint64(64 - _SLOT_BITS)
    places: Numbers = slots.view(np.int64)  # which numpy looks up without a copy
    return places
