"""Formats of raw files: one reader in each module, one line here for each format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from hanyi.corpus.formats import rfc4180, tabular, tsv
from hanyi.corpus.pairs import RawFile, Row

REASONS = tabular.REASONS
"""Reasons for which a reader rejects a row."""


class Inspect(Protocol):
    """Checks the first rows of a file, and completes its description."""

    def __call__(self, path: Path, file: RawFile, *, section: str) -> RawFile:
        """Raise `DataError`, which names the key of `section` to set, when they make no sense."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """How a kind of file is read whole and checked beforehand."""

    read: Callable[[Path, RawFile], Iterator[Row]]
    inspect: Inspect


def _table(split: tabular.Splitter) -> Format:
    return Format(
        read=partial(tabular.read, split=split), inspect=partial(tabular.inspect, split=split)
    )


FORMATS: dict[str, Format] = {
    "tsv": _table(tsv.split),
    "csv": _table(rfc4180.split),
}


def read_rows(directory: Path, file: RawFile) -> Iterator[Row]:
    """Yield every row of a raw file, in its order, the faulty ones with their reason."""
    return FORMATS[file.format].read(directory / file.path, file)
