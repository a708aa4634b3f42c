"""The deterministic split of a corpus, in which no sentence of either side crosses a split."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence

from hanyi.errors import DataError

log = logging.getLogger("hanyi.corpus")

REMEDY = "lower prepare.split or give files for its splits"

Keys = tuple[bytes, bytes]
"""Keys of a row's source and target sentence."""

LEAST_SHARE = 0.9
"""A split may come out smaller than asked by a tenth, where groups of rows do not fit exactly."""

CLUSTER_SHARE = 20
"""A group larger than this part of a split enters it only when smaller ones do not fill it."""


def split_off(
    corpus: str, rows: Sequence[Keys], wanted: Mapping[str, int], seed: int
) -> dict[int, str]:
    """Choose rows for each split of `wanted`: row number to split; the rest stays in train.

    Rows that share a sentence form a group and go together. Groups are taken in the order of a hash
    of their contents and the seed, so the choice depends neither on the order of the rows nor on
    the process. Raises `DataError` when the rows hang together too much to be divided like that.
    """
    groups = _in_hash_order(_groups(rows), rows, seed)
    chosen: dict[int, str] = {}
    for split, count in wanted.items():
        taken = _take(groups, count)
        groups = [group for number, group in enumerate(groups) if number not in taken]
        for members in taken.values():
            chosen.update(dict.fromkeys(members, split))
        found = sum(map(len, taken.values()))
        if found < count:
            log.info("corpus %s: groups of rows leave %s at %d of %d", corpus, split, found, count)
        if found < LEAST_SHARE * count:
            raise DataError(
                f"corpus {corpus}",
                f"{found} rows for {split}, as the others hang together by common sentences",
                f"{count}", REMEDY,
            )  # fmt: skip
    return chosen


def _groups(rows: Sequence[Keys]) -> list[list[int]]:
    """Join rows that share a sentence, directly or through others (union-find)."""
    parents = list(range(len(rows)))

    def root(row: int) -> int:
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row

    first: dict[bytes, int] = {}
    for row, keys in enumerate(rows):
        for key in keys:
            other = first.setdefault(key, row)
            if other != row:
                parents[root(row)] = root(other)
    members: dict[int, list[int]] = {}
    for row in range(len(rows)):
        members.setdefault(root(row), []).append(row)
    return list(members.values())


def _in_hash_order(groups: list[list[int]], rows: Sequence[Keys], seed: int) -> list[list[int]]:
    salt = str(seed).encode("ascii")

    def order(group: list[int]) -> bytes:
        name = min(key for row in group for key in rows[row])
        return hashlib.blake2b(salt + name, digest_size=16).digest()

    return sorted(groups, key=order)


def _take(groups: list[list[int]], count: int) -> dict[int, list[int]]:
    """Take groups in their order until `count` rows are there, large groups last."""
    taken: dict[int, list[int]] = {}
    missing = count
    for largest in (max(1, count // CLUSTER_SHARE), count):
        for number, group in enumerate(groups):
            if not missing:
                break
            if number not in taken and len(group) <= min(largest, missing):
                taken[number] = group
                missing -= len(group)
    return taken
