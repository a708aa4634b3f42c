"""Tables of rows: bytes that the rows alone decide, and nothing of them lost."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hanyi.corpus import tables
from hanyi.corpus.tables import PAIRS, ROWS, Row, TableWriter, row_blocks


def block(first: int, rows: int) -> pa.RecordBatch:
    ids = range(first, first + rows)
    columns = [ids, ["c"] * rows, [f"源{n}" for n in ids], [f"target {n}" for n in ids]]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, PAIRS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PAIRS)


def write(path: Path, sizes: list[int]) -> bytes:
    first = 0
    with TableWriter(path, PAIRS) as writer:
        for size in sizes:
            writer.write(block(first, size))
            first += size
    assert writer.rows == first
    return path.read_bytes()


def test_blocks_leave_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROW_GROUP", 10)
    written = [
        write(tmp_path / "a", sizes) for sizes in ([35], [1] * 35, [10, 10, 10, 5], [0, 9, 2, 24])
    ]
    assert len(set(written)) == 1
    with parquet.ParquetFile(tmp_path / "a") as file:
        assert [file.metadata.row_group(group).num_rows for group in range(4)] == [10, 10, 10, 5]
    assert parquet.read_table(tmp_path / "a").to_pylist() == block(0, 35).to_pylist()


def test_no_rows(tmp_path: Path) -> None:
    write(tmp_path / "a", [])
    assert parquet.read_table(tmp_path / "a").schema == PAIRS


def test_an_error_closes_the_file(tmp_path: Path) -> None:
    def fail() -> None:
        with TableWriter(tmp_path / "a", PAIRS) as writer:
            writer.write(block(0, 3))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert parquet.read_table(tmp_path / "a").num_rows == 0  # left to who publishes it


def test_row_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROW_GROUP", 2)
    rows = [Row(1, "我", "I", None), Row(2, "x", "", "columns"), Row(4, "", "", "blank")]
    blocks = list(row_blocks(rows))
    assert [len(some) for some in blocks] == [2, 1]
    assert pa.Table.from_batches(blocks, ROWS).to_pylist() == [row._asdict() for row in rows]
