"""The deterministic split of a corpus, in which no sentence of either side crosses a split."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hanyi.corpus.digests import DigestStore, Mask, links, reach
from hanyi.corpus.shingles import Numbers, scatter
from hanyi.errors import DataError

log = logging.getLogger("hanyi.corpus")

REMEDY = "lower prepare.split or give files for its splits"

LEAST_SHARE = 0.9
"""A split may come out smaller than asked by a tenth, where groups of rows do not fit exactly."""

CLUSTER_SHARE = 20
"""A group larger than this part of a split enters it only when smaller ones do not fill it."""

ROUNDS = 4
"""Searches for near-duplicates; each takes a pass over the corpus."""

SPARE = 4
"""The first search covers more rows than wanted, by this part: some will replace others."""

FEW = 16
"""Groups looked at first, for each row wanted."""

FindNear = Callable[[Numbers], Numbers]
"""Given numbers of rows, finds int64 [links, 2] of (row, near one of the given rows).

Every row of the corpus that is near a given one has to be in it, with each of those it is near.
"""


def split_off(
    corpus: str,
    sides: Sequence[DigestStore],
    pool: Mask,
    wanted: Mapping[str, int],
    seed: int,
    *,
    find_near: FindNear | None = None,
) -> dict[str, Numbers]:
    """Choose rows of `pool`, bool [rows], for each split of `wanted`; the rest stays in train.

    `sides` are the keys of the source and of the target sentences of all rows. Rows that share a
    sentence or are near-duplicates form a group and go together. Groups are taken in the order of a
    hash of their sentences and the seed, so the choice depends neither on the order of the rows nor
    on the process. Gives ascending numbers of rows. Raises `DataError` when the rows hang together
    too much to be divided like that.
    """
    groups = _Groups(sides, pool, seed)
    what = "common sentences"
    if find_near is None:
        chosen = groups.take(wanted)
    else:
        chosen = _take_with_kin(groups, wanted, len(pool), find_near)
        what += " or near-duplicates"
    for split, count in wanted.items():
        found = len(chosen[split])
        if found < count:
            log.info("corpus %s: groups of rows leave %s at %d of %d", corpus, split, found, count)
        if found < LEAST_SHARE * count:
            raise DataError(
                f"corpus {corpus}",
                f"{found} rows for {split}, as the others hang together by {what}",
                f"{count}", REMEDY,
            )  # fmt: skip
    return chosen


def _take_with_kin(
    groups: _Groups, wanted: Mapping[str, int], rows: int, find_near: FindNear
) -> dict[str, Numbers]:
    """Take groups for each split, joined with all that is near to their rows.

    Rows that are taken are asked about until nothing new comes. Then every row taken has been, so
    whatever is near to it is in its group. Groups whose kin of kin have not come to an end after
    `ROUNDS` searches stay in train.
    """
    asked = np.zeros(rows, np.bool_)
    chosen = groups.take(wanted)
    wider = groups.take({split: count + count // SPARE for split, count in wanted.items()})
    new = np.union1d(_joined(chosen), _joined(wider))
    for _ in range(ROUNDS):
        if not new.size:
            return chosen
        groups.join(find_near(new))
        asked[new] = True
        chosen = groups.take(wanted)
        new = _joined(chosen)
        new = new[~asked[new]]
    return groups.take(wanted, asked)


def _joined(chosen: Mapping[str, Numbers]) -> Numbers:
    return np.sort(np.concatenate([np.empty(0, np.int64), *chosen.values()]))


class _Groups:
    """The rows of a pool in groups, known by the smallest row of each.

    Arrays cover the rows from the pool's first to its last.
    """

    def __init__(self, sides: Sequence[DigestStore], pool: Mask, seed: int) -> None:
        within = reach(pool)
        self._first = within.start
        self._pool = pool[within.start : within.stop]
        self._names = _names(sides, within, seed)
        self._parents = np.arange(len(within))
        self.join(links(sides, pool))

    def join(self, found: Numbers) -> None:
        """Join the groups of linked rows, int64 [links, 2]; rows outside the pool are ignored."""
        found = found[
            ((found >= self._first) & (found < self._first + len(self._pool))).all(axis=1)
        ]
        found = found - self._first
        found = found[self._pool[found].all(axis=1)]
        while found.size:
            ends = self._parents[found]
            differ = ends[:, 0] != ends[:, 1]
            found, ends = found[differ], ends[differ]
            np.minimum.at(self._parents, ends.max(axis=1), ends.min(axis=1))
            self._flatten()
        moved = np.flatnonzero(self._parents != np.arange(len(self._parents)))
        np.minimum.at(self._names, self._parents[moved], self._names[moved])
        self._sizes = np.bincount(self._parents[self._pool], minlength=len(self._pool))

    def _flatten(self) -> None:
        while True:
            above = self._parents[self._parents]
            if (above == self._parents).all():
                return
            self._parents = above

    def take(self, wanted: Mapping[str, int], among: Mask | None = None) -> dict[str, Numbers]:
        """Take groups for each split in turn; with `among`, only ones that lie in it as a whole."""
        groups = np.flatnonzero(self._sizes)
        if among is not None:
            outside = self._pool & ~among[self._first : self._first + len(self._pool)]
            groups = groups[~np.isin(groups, self._parents[outside])]
        few = FEW * (1 + sum(wanted.values()))
        if len(groups) > few:
            # Of millions of groups the first are nearly always enough, and sorting takes long.
            names = self._names[groups]
            first = groups[names <= np.partition(names, few)[few]]
            taken = self._take_in_order(first, wanted, large=False)
            if all(len(taken[split]) == count for split, count in wanted.items()):
                return taken
        return self._take_in_order(groups, wanted, large=True)

    def _take_in_order(
        self, groups: Numbers, wanted: Mapping[str, int], *, large: bool
    ) -> dict[str, Numbers]:
        groups = groups[np.argsort(self._names[groups], kind="stable")]
        taken: dict[str, Numbers] = {}
        for split, count in wanted.items():
            places = _fill(self._sizes[groups], count, large=large)
            inside = np.zeros(len(self._pool), np.bool_)
            inside[groups[places]] = True
            taken[split] = np.flatnonzero(inside[self._parents] & self._pool) + self._first
            groups = np.delete(groups, places)
        return taken


def _names(sides: Sequence[DigestStore], within: range, seed: int) -> NDArray[np.uint64]:
    """Give each row a hash of the seed and the sentence of the two whose hash is smaller."""
    names = np.full(len(within), np.iinfo(np.uint64).max, np.uint64)
    for store in sides:
        for first, digests in store.blocks(within):
            some = names[first - within.start :][: len(digests)]
            np.minimum(some, scatter(digests[:, 0], seed), out=some)
    return names


def _fill(sizes: Numbers, count: int, *, large: bool) -> Numbers:
    """Take groups in their order until `count` rows are there, large groups last or never."""
    taken = np.empty(0, np.int64)
    for largest in (max(1, count // CLUSTER_SHARE), count)[: 1 + large]:
        places = np.setdiff1d(np.flatnonzero(sizes <= largest), taken, assume_unique=True)
        while count and places.size:
            places = places[sizes[places] <= count]
            totals = np.cumsum(sizes[places])
            fitting = int(np.searchsorted(totals, count, side="right"))
            taken = np.append(taken, places[:fitting])
            count -= int(totals[fitting - 1]) if fitting else 0
            places = places[fitting:]
    return taken
