"""Formats of corpora: one reader in each module, one line here for each format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from hanyi.corpus.formats.inputs import Input


class Format(Protocol):
    """A module that reads one kind of file."""

    def inspect(self, file: Input) -> Input:
        """Decide what is `auto` and check the first rows; raise `DataError` when they are odd."""

    def read(self, file: Input) -> Iterator[pa.RecordBatch]:
        """Give every row in order as blocks of schema `tables.ROWS`, faulty ones included."""
