"""Parquet files whose bytes depend on their rows alone, and the schemas of all tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet
from typing_extensions import Self

ROW_GROUP = 1 << 16
"""Rows of a row group, and of a block in memory."""

ROWS = pa.schema(
    [("line", pa.int64()), ("src", pa.string()), ("tgt", pa.string()), ("fault", pa.string())]
)
"""What a reader gives: `line` counts from 1; `fault` is null or the reason why a row is no pair."""

RAW = pa.schema([("file", pa.string()), *ROWS])
"""What `fetch` writes: the user's own name of the file beside each row of a reader."""

PAIRS = pa.schema(
    [("id", pa.int64()), ("corpus", pa.string()), ("src", pa.string()), ("tgt", pa.string())]
)
REJECTED = pa.schema(
    [
        ("file", pa.string()),
        ("line", pa.int64()),
        ("src", pa.string()),
        ("tgt", pa.string()),
        ("reason", pa.string()),
    ]
)
_FEW_VALUES = {"corpus", "file", "fault", "reason"}


class Row(NamedTuple):
    """One row of a raw file.

    `line` counts from 1 and is the row's first line. `fault` is the reason why the row could not be
    read (then `src` holds its text as far as it goes), or None.
    """

    line: int
    src: str
    tgt: str
    fault: str | None


def row_blocks(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Gather rows into blocks of schema `ROWS`."""
    waiting = iter(rows)
    while some := list(islice(waiting, ROW_GROUP)):
        columns = zip(*some, strict=True)
        arrays = [
            pa.array(column, type=field.type) for column, field in zip(columns, ROWS, strict=True)
        ]
        del some  # not held while the next rows are read
        yield pa.RecordBatch.from_arrays(arrays, schema=ROWS)


class TableWriter:
    """Writes blocks into one Parquet file: zstd, row groups of a fixed size, no other metadata.

    How the rows come in blocks leaves no trace: they are cut anew into row groups.
    """

    def __init__(self, path: Path, schema: Any) -> None:
        self.rows = 0
        self._schema = schema
        self._waiting: list[pa.RecordBatch] = []
        self._room = ROW_GROUP
        self._writer = parquet.ParquetWriter(
            path,
            schema,
            compression="zstd",
            use_dictionary=[name for name in schema.names if name in _FEW_VALUES],
        )

    def __enter__(self) -> Self:
        """Open for writing."""
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Write the last row group, unless an error has come, and close the file."""
        if kind is None and self._waiting:
            self._flush()
        self._writer.close()

    def write(self, block: pa.RecordBatch) -> None:
        """Add rows."""
        self.rows += block.num_rows
        while block.num_rows >= self._room:
            self._waiting.append(block.slice(0, self._room))
            block = block.slice(self._room)
            self._flush()
        if block.num_rows:
            self._waiting.append(block)
            self._room -= block.num_rows

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._waiting, schema=self._schema)
        self._writer.write_table(table, ROW_GROUP)
        self._waiting, self._room = [], ROW_GROUP
