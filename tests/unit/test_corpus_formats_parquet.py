"""Parquet: columns by name, path and position, types of text, faults of rows."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as writer

from hanyi.corpus.formats import parquet
from hanyi.corpus.tables import ROW_GROUP, Row
from hanyi.errors import DataError
from tests.structured import make_input, read_rows

ZH, EN = ["你好。", "再见。"], ["Hi.", "Bye."]
PAIRS = [Row(1, "你好。", "Hi.", None), Row(2, "再见。", "Bye.", None)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pairs.parquet"


def rows_of(path: Path, columns: dict[str, object], **reading: object) -> list[Row]:
    writer.write_table(pa.table(columns), path)
    return read_rows(parquet, make_input(path, **reading))


@pytest.mark.parametrize(
    "columns",
    [
        {"en": EN, "zh": ZH},
        {"zh": ZH, "en": EN},
        {"id": [1, 2], "src": ZH, "tgt": EN},
        {"target": EN, "source": ZH},
        {"translation": [{"en": e, "zh": z, "fr": ""} for e, z in zip(EN, ZH, strict=True)]},
        {"anything": EN, "else": ZH},
        {"anything": EN, "else": ZH, "score": [0.5, 1]},
    ],
)
def test_columns_are_found(path: Path, columns: dict[str, object]) -> None:
    assert rows_of(path, columns) == PAIRS


@pytest.mark.parametrize(
    ("src", "tgt"), [("b", "c.d.e"), (1, "c.d.e"), ("b", "x.y"), ("b", 3), ("b", "c.d.f")]
)
def test_columns_that_are_named(path: Path, src: int | str, tgt: int | str) -> None:
    inner = [{"d": {"e": text, "f": text}} for text in EN]
    columns = {"a": [1, 2], "b": ZH, "c": inner, "x.y": EN}
    assert rows_of(path, columns, src_column=src, tgt_column=tgt) == PAIRS


@pytest.mark.parametrize(
    "kind",
    [
        pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
        pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.large_string()),
    ],
    ids=str,
)  # fmt: skip
def test_types_of_text(path: Path, kind: pa.DataType) -> None:
    table = pa.table({"zh": pa.array(ZH).cast(kind), "en": pa.array(EN).cast(kind)})
    writer.write_table(table, path)
    assert read_rows(parquet, make_input(path)) == PAIRS


def test_categories_of_pandas(path: Path) -> None:
    table = pa.table({"zh": ZH, "en": EN}).to_pandas().astype("category")
    table.to_parquet(path)
    assert read_rows(parquet, make_input(path)) == PAIRS


def test_faults(path: Path) -> None:
    nested = [{"zh": "a", "en": "b"}, {"zh": None, "en": "b"}, None, {"zh": "a", "en": None}]
    assert rows_of(path, {"translation": nested}) == [
        Row(1, "a", "b", None),
        Row(2, "b", "", "columns"),
        Row(3, "", "", "columns"),
        Row(4, "a", "", "columns"),
    ]


def test_undecodable_bytes(path: Path) -> None:
    raw = pa.array([b"a", b"\xff\xe4b", None, b""], pa.binary())
    for column in (raw, pa.Array.from_buffers(pa.string(), 4, raw.buffers())):
        assert rows_of(path, {"zh": column, "en": ["x", "y", "z", ""]}) == [
            Row(1, "a", "x", None),
            Row(2, "��b\ty", "", "encoding"),
            Row(3, "z", "", "columns"),
            Row(4, "", "", None),
        ]


def test_large_tables_come_in_blocks(path: Path) -> None:
    size = 2 * ROW_GROUP + 5
    table = pa.table({"zh": [str(n) for n in range(size)], "en": size * ["x"]})
    writer.write_table(table, path, row_group_size=size)
    blocks = list(parquet.read(parquet.inspect(make_input(path))))
    assert sum(block.num_rows for block in blocks) == size
    assert blocks[-1].to_pylist()[-1] == {
        "line": size, "src": str(size - 1), "tgt": "x", "fault": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "reading", "message"),
    [
        ({"a": ["x"]}, {}, r"1 columns \(a\), expected at least 2.*src_column"),
        ({"id": [1], "a": ["x"], "b": ["y"]}, {}, "int64 in column id.*tgt_column, to one of a, b"),
        ({"zh": ["x"], "en": ["y"]}, {"src_column": "cn"}, "no columns cn among zh, en"),
        ({"zh": ["x"], "en": ["y"]}, {"src_column": "zh.x"}, "no columns zh.x"),
        ({"t": [{"zh": "x"}], "en": ["y"]}, {"src_column": "t.en"}, "among t.zh, en"),
        ({"t": [{"zh": "x"}], "en": ["y"]}, {"src_column": "t", "tgt_column": 1}, "struct<.*t.zh"),
        ({"zh": [["x"]], "en": ["y"]}, {"src_column": "zh", "tgt_column": "en"}, "list<"),
        ({"zh": pa.array([], pa.string()), "en": pa.array([], pa.string())}, {}, "no rows"),
    ],
)
def test_tables_that_cannot_be_understood(
    path: Path, columns: dict[str, object], reading: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        rows_of(path, columns, **reading)


def test_a_name_that_stands_twice_is_refused(path: Path) -> None:
    writer.write_table(pa.table([EN, ZH, ZH], names=["en", "zh", "zh"]), path)
    with pytest.raises(DataError, match="2 columns zh"):
        parquet.inspect(make_input(path, src_column="zh", tgt_column="en"))


@pytest.mark.parametrize("cut", [0, 3, 100, -1])
def test_broken_files_are_refused(path: Path, cut: int) -> None:
    writer.write_table(pa.table({"zh": ZH, "en": EN}), path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(DataError, match=r"pairs\.parquet: no Parquet"):
        parquet.inspect(make_input(path))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_tables(path: Path, pack: Callable[[bytes], bytes]) -> None:
    writer.write_table(pa.table({"en": EN, "zh": ZH}), path)
    packed = pack(path.read_bytes())
    path.write_bytes(packed)
    assert read_rows(parquet, make_input(path)) == PAIRS
    path.write_bytes(packed[:-9])
    with pytest.raises(DataError, match=r"pairs.parquet: broken \w+ data"):
        read_rows(parquet, make_input(path))


def test_a_broken_page_is_told(path: Path) -> None:
    table = pa.table({"zh": [str(n) for n in range(5000)], "en": [str(n) for n in range(5000)]})
    writer.write_table(table, path, use_dictionary=False, compression="zstd")
    raw = bytearray(path.read_bytes())
    raw[200:3000] = 2800 * b"\x55"
    path.write_bytes(raw)
    file = parquet.inspect(make_input(path))
    with pytest.raises(DataError, match=r"pairs\.parquet: no Parquet"):
        list(parquet.read(file))


def test_a_column_whose_name_is_no_text_is_told(path: Path) -> None:
    writer.write_table(pa.table({"zhzhzh": ZH, "en": EN}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"zhzhzh", b"zh\xff\xffzh"))
    with pytest.raises(DataError, match="no Parquet that can be read"):
        parquet.inspect(make_input(path))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        parquet.inspect(make_input(tmp_path / "none.parquet"))
