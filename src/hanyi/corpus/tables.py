"""Parquet files whose bytes depend on their rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

ROW_GROUP = 1 << 16
"""Rows of a row group, and of a batch in memory."""

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
_FEW_VALUES = {"corpus", "file", "reason"}


def write_table(path: Path, schema: Any, rows: Iterable[tuple[object, ...]]) -> None:
    """Write rows in batches: zstd, row groups of a fixed size, no metadata beyond the schema."""
    with parquet.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=[name for name in schema.names if name in _FEW_VALUES],
    ) as writer:
        for batch in _batches(iter(rows)):
            columns = zip(*batch, strict=True)
            arrays = [
                pa.array(column, type=field.type)
                for column, field in zip(columns, schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), ROW_GROUP)


def _batches(rows: Iterator[tuple[object, ...]]) -> Iterator[list[tuple[object, ...]]]:
    while batch := list(islice(rows, ROW_GROUP)):
        yield batch
