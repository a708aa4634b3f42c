"""Exact search for near-duplicates of held-out sentences in a corpus of any size."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from hanyi.corpus.keys import fold_column
from hanyi.corpus.shingles import Numbers, Pieces, Values, shingle_sets, slices

_SHARED = 6
"""Shingles that a candidate has to share with the rare ones of a sentence, where it has so many."""
_NEVER = 255
_SLOT_BITS = 21
_SCATTER = np.uint64(0x9E3779B97F4A7C15)
_SLACK = 1e-9
"""Keeps rounding from making a bound too tight; the last test is the definition itself."""
_EXPANDED = 1 << 22
"""Shingles compared at a time."""


class NearIndex:
    """Held-out sentences, ready to be compared with every sentence of a corpus.

    Two sentences are near-duplicates when the sets of shingles of their folded texts are similar:
    of all shingles of both, at least the share `similarity` is common (Jaccard), above 0 and at
    most 1. The answers are exact. The speed comes from never comparing most sentences: a
    near-duplicate of a sentence with `a` shingles has at least `similarity * a` of them, hence at
    least `n` of any `a - similarity * a + n` of them; the rarest are looked for (prefix filtering,
    Chaudhuri et al. 2006). A `sample` of the corpus tells which are rare in it, for speed alone.
    """

    def __init__(
        self, texts: pa.StringArray, similarity: float, sample: pa.StringArray | None = None
    ) -> None:
        self._similarity = similarity
        values, rows = shingle_sets(fold_column(texts))
        self._sizes = np.bincount(rows, minlength=len(texts))
        self._vocabulary = _Lookup(values)
        ids = self._vocabulary.find(values)
        self._entries = _Lookup(_entries(rows, ids))
        least = np.ceil(similarity * self._sizes - _SLACK).astype(np.int64)
        shared = np.minimum(least, _SHARED)
        frequencies = np.bincount(ids)
        if sample is not None:
            seen = self._vocabulary.find(shingle_sets(fold_column(sample))[0])
            frequencies += np.bincount(seen[seen >= 0], minlength=len(frequencies))
        rare = _rarest(ids, rows, frequencies, self._sizes - least + shared)
        self._rare = _Lookup(values[rare])
        places = self._rare.find(values[rare])
        order = np.lexsort((rows[rare], places))
        self._shared = shared
        self._postings = rows[rare][order]
        self._begins = np.append(0, np.cumsum(np.bincount(places)))
        # For each slot, the fewest shingles that a candidate must share for one of them to count.
        self._least = np.full(1 << _SLOT_BITS, _NEVER, np.uint8)
        np.minimum.at(self._least, _slots(values[rare]), shared[rows[rare]].astype(np.uint8))

    def pairs(self, texts: pa.StringArray) -> Numbers:
        """Give every near pair, int64 [pairs, 2] of (row, number of the held-out sentence).

        Ordered by row, then number.
        """
        found = [np.empty((0, 2), np.int64)]
        for first, some in slices(fold_column(texts)):
            rows, held = self._candidates(Pieces(some))
            if rows.size:
                rows, held = self._verified(some, rows, held)
                found.append(np.stack((rows + first, held), axis=1))
        return np.concatenate(found)

    def matches(self, texts: pa.StringArray) -> Numbers:
        """Give for each text the smallest number of a near held-out sentence, or -1."""
        pairs = self.pairs(texts)
        matched = np.full(len(texts), -1, np.int64)
        rows, first = np.unique(pairs[:, 0], return_index=True)
        matched[rows] = pairs[first, 1]
        return matched

    def _candidates(self, pieces: Pieces) -> tuple[Numbers, Numbers]:
        """Give rows with held-out sentences of which they share enough rare shingles."""
        least = self._least[_slots(pieces.windows)]
        places, rows = pieces.valid(np.flatnonzero(least != _NEVER))
        enough = np.bincount(rows, minlength=1)[rows] >= least[places]
        short, short_rows = pieces.short()
        where = self._rare.find(np.append(pieces.windows[places[enough]], short))
        known = where >= 0
        where, rows = where[known], np.append(rows[enough], short_rows)[known]
        counts = self._begins[where + 1] - self._begins[where]
        held = self._postings[_ranges(self._begins[where], counts)]
        rows = np.repeat(rows, counts)
        # A row has at most as many shingles as bytes, so it is too short for much longer ones.
        fits = pieces.lengths[rows] >= self._similarity * self._sizes[held] - _SLACK
        pairs, shared = np.unique(rows[fits] * len(self._sizes) + held[fits], return_counts=True)
        rows, held = np.divmod(pairs, max(1, len(self._sizes)))
        hopeful = shared >= self._shared[held]
        return rows[hopeful], held[hopeful]

    def _verified(
        self, folded: pa.StringArray, rows: Numbers, held: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Keep the pairs that are near by definition."""
        distinct, places = np.unique(rows, return_inverse=True)
        values, value_rows = shingle_sets(folded.take(pa.array(distinct)))
        sizes = np.bincount(value_rows, minlength=len(distinct))
        ids = self._vocabulary.find(values)
        counts = np.bincount(value_rows[ids >= 0], minlength=len(distinct))
        begins = (np.cumsum(counts) - counts)[places]
        ids, counts = ids[ids >= 0], counts[places]
        both = sizes[places] + self._sizes[held]
        share = self._similarity / (1 + self._similarity)
        hopeful = np.minimum(counts, self._sizes[held]) >= share * both - _SLACK
        rows, held, both = rows[hopeful], held[hopeful], both[hopeful]
        common = self._common(ids, begins[hopeful], counts[hopeful], held)
        near = common / (both - common) >= self._similarity
        return rows[near], held[near]

    def _common(self, ids: Numbers, begins: Numbers, counts: Numbers, held: Numbers) -> Numbers:
        """Count the shingles `ids[begins:begins + counts]` that each held-out sentence has."""
        common = np.zeros(len(held), np.int64)
        for some in _cut(counts):
            wanted = ids[_ranges(begins[some], counts[some])]
            found = self._entries.find(_entries(np.repeat(held[some], counts[some]), wanted)) >= 0
            common[some] = np.add.reduceat(found, np.cumsum(counts[some]) - counts[some])
        return common


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


def _entries(rows: Numbers, ids: Numbers) -> Values:
    entries: Values = rows.astype(np.uint64) << np.uint64(32) | ids.astype(np.uint64)
    return entries


def _cut(counts: Numbers) -> list[slice]:
    """Cut pairs into slices of about `_EXPANDED` shingles."""
    number = np.cumsum(counts) // _EXPANDED
    edges = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(counts)]
    return [slice(*edge) for edge in pairwise(edges) if edge[0] < edge[1]]


def _ranges(begins: Numbers, counts: Numbers) -> Numbers:
    """Join the ranges of `counts` numbers from each of `begins` on."""
    ends = np.cumsum(counts)
    return np.arange(counts.sum()) + np.repeat(begins - ends + counts, counts)


def _rarest(ids: Numbers, rows: Numbers, frequencies: Numbers, wanted: Numbers) -> Numbers:
    """Choose of each row's shingles as many as wanted, those with the lowest frequencies."""
    order = np.lexsort((ids, frequencies[ids], rows))
    place_in_row = np.arange(len(rows)) - np.searchsorted(rows, rows)
    return order[place_in_row < wanted[rows]]


def _slots(values: Values) -> Values:
    slots: Values = (values * _SCATTER) >> np.uint64(64 - _SLOT_BITS)
    return slots
