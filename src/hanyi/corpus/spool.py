"""Rows on their way, on disk: written once, read block by block as often as needed."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

CLEANED = pa.schema(
    [
        ("id", pa.int64()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("src", pa.string()),
        ("tgt", pa.string()),
    ]
)
"""`id` is the row's position in reading order over all raw tables."""

FOLDED = pa.schema([("src", pa.string()), ("tgt", pa.string())])
"""The sentences as they are compared."""


class Spool:
    """A file of blocks of rows of one schema; closed for writing, it is read.

    Rows are counted from 0 through all blocks: the place of a row, which masks are over.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._starts = [0]
        self._sink = pa.OSFile(str(path), "wb")
        # Not packed: even lz4 takes as long as a tenth of all cleaning.
        self._writer = pa.ipc.new_file(self._sink, schema)
        self._readers = threading.local()

    def write(self, block: pa.RecordBatch) -> None:
        """Add a block of rows."""
        if block.num_rows:
            self._starts.append(self._starts[-1] + block.num_rows)
            self._writer.write_batch(block)

    def finish(self) -> None:
        """Close it for writing."""
        self._writer.close()
        self._sink.close()

    def blocks(self, wanted: NDArray[np.bool_] | None = None) -> list[int]:
        """Give the numbers of all blocks, or of those that hold rows of a mask `[places]`."""
        every = range(len(self._starts) - 1)
        return [number for number in every if wanted is None or wanted[self.places(number)].any()]

    def places(self, number: int) -> slice:
        """Give the places of the rows of a block."""
        return slice(self._starts[number], self._starts[number + 1])

    def read(self, number: int, wanted: NDArray[np.bool_] | None = None) -> pa.RecordBatch:
        """Give the rows of one block, or those of a mask `[places]`; any thread may ask."""
        if not hasattr(self._readers, "file"):
            self._readers.file = pa.ipc.open_file(pa.OSFile(str(self._path)))
        block = self._readers.file.get_batch(number)
        if wanted is None:
            return block
        return block.filter(pa.array(wanted[self.places(number)]))
