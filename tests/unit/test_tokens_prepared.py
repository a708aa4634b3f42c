"""Prepared rows come alike from one file and from parts; what does not fit is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from hanyi.artifacts import digest_path
from hanyi.errors import ArtifactError, DataError
from hanyi.tokens import identity
from hanyi.tokens.identity import check_ids
from hanyi.tokens.prepared import corpus_names, read_blocks
from hanyi.tokens.weights import read_weights

ALL = ["id", "corpus", "src", "tgt"]

Row = dict[str, Any]


def made(count: int, first: int = 0) -> pa.Table:
    rows: list[Row] = [
        {"id": n, "corpus": "wmt" if n % 3 else "ted", "src": f"第{n}句", "tgt": f"Sentence {n}"}
        for n in range(first, first + count)
    ]
    return pa.Table.from_pylist(rows)


def write(path: Path, table: pa.Table) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    return path


def read(path: Path, columns: list[str] = ALL) -> list[Row]:
    blocks = list(read_blocks(path, columns))
    for block in blocks:
        assert block.schema.names == columns
        assert {field.type for field in block.schema} <= {pa.int64(), pa.string()}
    return [row for block in blocks for row in block.to_pylist()]


def told(path: Path, kind: type[Exception] = DataError) -> str:
    with pytest.raises(kind) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def split(tmp_path: Path) -> Path:
    return tmp_path / "train.parquet"


def test_parts_are_read_in_order_of_their_names(split: Path) -> None:
    table = made(30_000)
    write(split / "part-00001.snappy.parquet", table.slice(10_000, 5000))
    write(split / "part-00000.snappy.parquet", table.slice(0, 10_000))
    write(split / "part-00002.snappy.parquet", table.slice(15_000, 0))
    write(split / "z/deeper/0.parquet", table.slice(15_000))
    (split / "_SUCCESS").touch()
    (split / ".part-00000.snappy.parquet.crc").write_bytes(b"crc")
    write(split / "_temporary/0/part-9.parquet", made(5))
    write(split / ".hidden/part-9.parquet", made(5))
    assert read(split) == table.to_pylist()
    check_ids(split)
    assert corpus_names([split]) == ("ted", "wmt")


def test_folders_of_partitions_are_columns(split: Path) -> None:
    ds.write_dataset(
        made(50), split, format="parquet", partitioning=["corpus"], partitioning_flavor="hive"
    )
    assert sorted(file.name for file in split.iterdir()) == ["corpus=ted", "corpus=wmt"]
    expected = sorted(made(50).to_pylist(), key=lambda row: (row["corpus"], row["id"]))
    assert read(split) == expected
    assert read(split, ["corpus"]) == [{"corpus": row["corpus"]} for row in expected]
    assert read(split, ["id", "tgt"])[0] == {"id": 0, "tgt": "Sentence 0"}


def test_signs_in_names_of_folders(split: Path) -> None:
    write(split / "corpus=a%20b%2F中/x=1/0.parquet", made(1).drop_columns(["corpus"]))
    assert read(split, ["corpus"]) == [{"corpus": "a b/中"}]
    write(split / "corpus=__HIVE_DEFAULT_PARTITION__/0.parquet", made(1).drop_columns(["corpus"]))
    assert "0.parquet: row 1: corpus: null, expected text" in told(split)


@pytest.mark.parametrize("folders", [1, 3])
def test_rows_without_ids_are_numbered(split: Path, folders: int) -> None:
    table = made(20_000).drop_columns(["id", "corpus"])
    for number in range(folders):
        share = 20_000 // folders + 1
        write(split / f"{number}.parquet", table.slice(number * share, share))
    rows = read(split)
    assert [row["id"] for row in rows] == list(range(20_000))
    assert {row["corpus"] for row in rows} == {"parts"}
    assert [row["src"] for row in rows] == table["src"].to_pylist()
    assert read(split, ["id"]) == [{"id": row["id"]} for row in rows]
    assert len(read(split, ["corpus"])) == 20_000
    check_ids(split)


def test_ids_in_some_parts_only(split: Path) -> None:
    write(split / "0.parquet", made(5))
    write(split / "1.parquet", made(5, 5).drop_columns(["id"]))
    assert "1.parquet: column id in some parts, expected it in all parts or in none" in told(split)
    assert len(read(split, ["src"])) == 10


def test_other_types_of_text_and_numbers(split: Path) -> None:
    types = [
        (pa.int32(), pa.large_string()),
        (pa.uint64(), pa.dictionary(pa.int32(), pa.string())),
        (pa.int16(), pa.binary()),
        (pa.int8(), pa.large_binary()),
        (pa.int64(), pa.string_view()),
    ]
    table = made(100)
    for number, (whole, text) in enumerate(types):
        part = table.slice(20 * number, 20)
        columns = [
            pa.array(part[name].to_pylist()).cast(whole if name == "id" else pa.string())
            for name in ALL
        ]
        columns[1:] = [
            column.dictionary_encode() if pa.types.is_dictionary(text) else column.cast(text)
            for column in columns[1:]
        ]
        write(split / f"{number}.parquet", pa.table(columns, names=ALL))
    assert read(split) == table.to_pylist()


@pytest.mark.parametrize(
    ("name", "column", "line"),
    [
        ("src", pa.array([1, 2]), "src: int64, expected text; convert the column"),
        ("tgt", pa.array([["a"], ["b"]]), "tgt: list"),
        ("id", pa.array(["1", "2"]), "id: string, expected whole numbers"),
        ("id", pa.array([1.0, 2.0]), "id: double, expected whole numbers"),
        ("id", pa.array([1, 2**64 - 1], pa.uint64()), "id: Integer value 18446744073709551615"),
        ("tgt", pa.array([b"ok", b"\xff"]), "tgt: Invalid UTF8"),
        ("id", pa.array([1, None]), "row 2: id: null, expected whole numbers; fill it in or leave"),
        ("corpus", pa.array(["a", None]), "row 2: corpus: null, expected text"),
        ("src", pa.array([None, "b"]), "row 1: src: null, expected text"),
        ("tgt", pa.array([None, None]), "row 1: tgt: null, expected text"),
    ],
)
def test_what_does_not_fit(split: Path, name: str, column: pa.Array, line: str) -> None:
    table = made(2)
    table = table.set_column(table.schema.get_field_index(name), name, column)
    write(split / "part-0.parquet", made(2, 10))
    write(split / "part-1.parquet", table)
    assert f"{split}/part-1.parquet: {line}" in told(split)


def test_a_null_far_down_is_named_by_its_row(split: Path) -> None:
    texts = ["x"] * 20_000
    table = made(20_000).set_column(2, "src", pa.array([*texts[:19_000], None, *texts[19_001:]]))
    assert "train.parquet: row 19001: src: null" in told(write(split, table))


def test_faults_of_parts(split: Path) -> None:
    assert "train.parquet: no such file, expected prepared rows" in told(split, ArtifactError)
    split.mkdir()
    (split / "_SUCCESS").touch()
    assert "train.parquet: a folder without parts" in told(split, ArtifactError)
    write(split / "0.parquet", made(3).drop_columns(["tgt"]))
    line = told(split, ArtifactError)
    assert "0.parquet: columns id, corpus, src, expected tgt too; run `dvc repro prepare`" in line
    (split / "0.parquet").write_bytes(b"PAR1 cut off")
    assert "0.parquet: no readable Parquet" in told(split, ArtifactError)
    (split / "0.parquet").rename(split / "notes.txt")
    assert "notes.txt: no readable Parquet" in told(split, ArtifactError)


def test_parts_without_rows_need_no_columns(split: Path) -> None:
    write(split / "0.parquet", pa.table({"index": pa.array([], pa.null())}))
    assert read(split) == []
    assert corpus_names([split]) == ()


@pytest.mark.parametrize("at_once", [1 << 23, 100])
def test_an_id_that_occurs_twice_is_named(
    split: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(identity, "IDS_AT_ONCE", at_once)
    ids = np.random.default_rng(1).permutation(1000) * 1024 - 5000
    for number in range(4):
        own = pa.array(ids[250 * number : 250 * number + 250])
        table = made(250).set_column(0, "id", own)
        write(split / f"part-{number}.parquet", table)
    check_ids(split)
    again = made(1).set_column(0, "id", pa.array(ids[600:601]))
    write(split / "x.parquet", again)
    with pytest.raises(DataError) as caught:
        check_ids(split)
    assert str(caught.value) == (
        f"{split}: id {ids[600]} more than once (part-2.parquet, x.parquet), expected each id "
        "once, for rows are joined by it; number the rows anew, or leave the column id out"
    )


def test_many_ids_that_occur_twice(split: Path) -> None:
    write(split / "0.parquet", made(10))
    write(split / "1.parquet", made(10))
    with pytest.raises(DataError, match=r"id 0, 1, 2, ... more than once \(0.parquet, 1.parquet\)"):
        check_ids(split)
    table = made(3).set_column(0, "id", pa.array([7, 8, 8]))
    with pytest.raises(DataError, match=r"id 8 more than once \(one.parquet\)"):
        check_ids(write(split.with_name("one.parquet"), table))


def test_the_digest_stands_for_names_and_content(split: Path) -> None:
    write(split / "0.parquet", made(3))
    write(split / "1.parquet", made(3, 3))
    first = digest_path(split)
    (split / "_SUCCESS").touch()
    assert digest_path(split) == first
    (split / "1.parquet").rename(split / "2.parquet")
    second = digest_path(split)
    write(split / "2.parquet", made(2, 3))
    assert len({first, second, digest_path(split), digest_path(split / "0.parquet")}) == 4


def test_parts_of_duckdb(split: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = made(300)
    source = write(split.with_name("rows.parquet"), rows)
    duckdb.sql(
        f"COPY (SELECT id::INTEGER AS id, corpus, src, tgt FROM '{source}') TO '{split}' "
        "(FORMAT parquet, PARTITION_BY (corpus))"
    )
    assert sorted(read(split), key=lambda row: int(row["id"])) == rows.to_pylist()


def write_list(folder: Path, *corpora: Row, **changes: Any) -> Path:
    fields = {"kind": "hanyi.prepared", "version": 1, "corpora": corpora, **changes}
    (folder / "corpora.json").write_text(json.dumps(fields))
    return folder


def test_weights(tmp_path: Path) -> None:
    assert read_weights(tmp_path, ["a", "b"]) == {"a": 1.0, "b": 1.0}
    corpora = [
        {"name": "b", "weight": 0.25},
        {"name": "a", "weight": 4},
        {"name": "c", "weight": 0},
    ]
    write_list(tmp_path, *corpora)
    assert read_weights(tmp_path, ["a", "b"]) == {"a": 4.0, "b": 0.25}
    with pytest.raises(DataError, match=r"corpora.json: no weight of d, e, expected one for each"):
        read_weights(tmp_path, ["a", "d", "e"])


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ({"name": "a", "weight": -1}, "no usable weight -1"),
        ({"name": "a", "weight": float("nan")}, "no usable weight nan"),
        ({"name": "a", "weight": "much"}, "no usable could not convert"),
        ({"name": "a"}, "no usable 'weight'"),
        (["a", 1], "no usable list indices"),
    ],
)
def test_weights_that_cannot_be(tmp_path: Path, entry: Any, line: str) -> None:
    write_list(tmp_path, entry)
    with pytest.raises(ArtifactError, match=f"corpora.json: {line}") as caught:
        read_weights(tmp_path, ["a"])
    assert "\n" not in str(caught.value)


def test_a_foreign_list_of_weights(tmp_path: Path) -> None:
    write_list(tmp_path, version=2)
    with pytest.raises(ArtifactError, match=r"hanyi.prepared version 2, expected hanyi.prep"):
        read_weights(tmp_path, ["a"])
