"""Parquet files: equal bytes for equal rows, the schema of the contract."""

from __future__ import annotations

from pathlib import Path

from pyarrow import parquet

from hanyi.artifacts import digest_file
from hanyi.corpus import tables
from hanyi.corpus.tables import PAIRS, write_table

ROWS = [(number, "mine", f"句子{number}", f"sentence {number}\0") for number in range(25)]


def test_round_trip_in_row_groups(tmp_path: Path, monkeypatch: object) -> None:
    path = tmp_path / "train.parquet"
    write_table(path, PAIRS, ROWS)
    table = parquet.read_table(path)
    assert table.schema == PAIRS
    assert [tuple(row.values()) for row in table.to_pylist()] == ROWS
    column = parquet.read_metadata(path).row_group(0).column(2)
    assert column.compression == "ZSTD"


def test_fixed_row_groups_and_equal_bytes(tmp_path: Path, monkeypatch: object) -> None:
    saved, tables.ROW_GROUP = tables.ROW_GROUP, 10
    try:
        for name in ("one", "two"):
            write_table(tmp_path / name, PAIRS, iter(ROWS))
    finally:
        tables.ROW_GROUP = saved
    found = parquet.read_metadata(tmp_path / "one")
    assert [found.row_group(i).num_rows for i in range(found.num_row_groups)] == [10, 10, 5]
    assert digest_file(tmp_path / "one") == digest_file(tmp_path / "two")


def test_no_rows_still_make_a_file(tmp_path: Path) -> None:
    write_table(tmp_path / "none", PAIRS, [])
    assert parquet.read_table(tmp_path / "none").num_rows == 0
