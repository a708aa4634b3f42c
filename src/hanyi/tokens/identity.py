"""Each id once: the rows of a split are joined on it, from encoding to scoring."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hanyi.errors import DataError
from hanyi.tokens.prepared import find_parts, read_blocks, read_part

IDS_AT_ONCE = 1 << 23
"""Ids that are sorted in one go; 64 MiB."""

TOLD = 3
"""Ids that an error names."""

Ids = NDArray[np.int64]


def check_ids(path: Path) -> None:
    """Raise `DataError`, which names ids and parts, unless each id of a split occurs once.

    Ids in rising order are read once; others as often as `IDS_AT_ONCE` goes into the rows, so that
    memory stays bounded.
    """
    rows, last, rising = 0, np.iinfo(np.int64).min, True
    for ids in _ids(path):
        rising = rising and (not rows or ids[0] > last) and bool((ids[1:] > ids[:-1]).all())
        rows, last = rows + len(ids), ids[-1]
    shares = 0 if rising else -(-rows // IDS_AT_ONCE)
    for share in range(shares):
        some = np.sort(np.concatenate([ids[_mixed(ids) % shares == share] for ids in _ids(path)]))
        again = np.unique(some[1:][some[1:] == some[:-1]])
        if len(again):
            told = ", ".join(map(str, again[:TOLD])) + (", ..." if len(again) > TOLD else "")
            raise DataError(
                path,
                f"id {told} more than once ({', '.join(_holders(path, again[0]))})",
                "each id once, for rows are joined by it",
                "number the rows anew, or leave the column id out",
            )


def _ids(path: Path) -> Iterator[Ids]:
    for block in read_blocks(path, ["id"]):
        yield block.column(0).to_numpy()


def _mixed(ids: Ids) -> NDArray[np.uint64]:
    # Multiplied by the golden ratio, so that ids with a step fall into all shares alike.
    mixed: NDArray[np.uint64] = ids.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed >>= np.uint64(32)
    return mixed


def _holders(path: Path, wanted: np.int64) -> list[str]:
    """Give the names of the parts that hold an id."""
    return [
        part.path.name
        for part in find_parts(path)
        if any(wanted in block.column(0).to_numpy() for block, _ in read_part(part, ["id"]))
    ]
