from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hanyi.artifacts import DECODED, digest_path, write_header
from hanyi.errors import ArtifactError
from hanyi.scoring.pairing import Pair, by_corpus, places_by_corpus, read_pairs

ROWS = [(7, "hsk", "你好", "Hello"), (2, "everyday", "谢谢", "Thanks"), (11, "hsk", "再见", "Bye")]


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    names = ("id", "corpus", "src", "tgt")
    table = pa.table({name: [row[at] for row in ROWS] for at, name in enumerate(names)})
    pq.write_table(table, tmp_path / "test.parquet")
    return tmp_path / "test.parquet"


def decode(tmp_path: Path, rows: Sequence[Mapping[str, Any] | str]) -> Path:
    path = tmp_path / "test.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    return path


GOOD = [{"id": 11, "text": "c\u2028c"}, {"id": 2, "text": "a"}, {"id": 7, "text": ""}]


def test_rows_are_joined_on_id_and_ordered_by_it(tmp_path: Path, prepared: Path) -> None:
    assert read_pairs(decode(tmp_path, GOOD), prepared) == [
        Pair(2, "everyday", "谢谢", "Thanks", "a"),
        Pair(7, "hsk", "你好", "Hello", ""),
        Pair(11, "hsk", "再见", "Bye", "c\u2028c"),
    ]


def test_what_the_model_says_of_its_translation_is_kept(tmp_path: Path, prepared: Path) -> None:
    told = [{**GOOD[0], "log_prob": -2.5, "finished": False}, *GOOD[1:]]
    first, second, third = read_pairs(decode(tmp_path, told), prepared)
    assert (third.log_prob, third.finished) == (-2.5, False)
    assert (first.log_prob, first.finished) == (second.log_prob, second.finished) == (None, True)


def test_corpora_are_named_in_order(tmp_path: Path, prepared: Path) -> None:
    groups = by_corpus(read_pairs(decode(tmp_path, GOOD), prepared))
    assert [(name, [pair.id for pair in group]) for name, group in groups.items()] == [
        ("everyday", [2]),
        ("hsk", [7, 11]),
    ]


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        (GOOD[:2], "1 rows missing and 0 surplus (first missing id 7)"),
        ([*GOOD, {"id": 5, "text": ""}], "0 rows missing and 1 surplus (first surplus id 5)"),
        ([*GOOD, GOOD[0]], "test.jsonl:4: id 11 again"),
        ([*GOOD[:2], "{"], "test.jsonl:3: broken JSON"),
        ([*GOOD[:2], {"id": 7}], "test.jsonl:3: no id or no text"),
        ([*GOOD[:2], "[7]"], "test.jsonl:3: no id or no text"),
        ([*GOOD[:2], {"id": "7", "text": ""}], "test.jsonl:3: no id or no text"),
        ([], "3 rows missing"),
    ],
)
def test_other_rows_are_one_line(
    tmp_path: Path, prepared: Path, rows: list[dict[str, Any] | str], part: str
) -> None:
    with pytest.raises(ArtifactError) as caught:
        read_pairs(decode(tmp_path, rows), prepared)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_and_broken_files_are_one_line(tmp_path: Path, prepared: Path) -> None:
    decoded = decode(tmp_path, GOOD)
    with pytest.raises(ArtifactError, match=r"no\.jsonl: no such file"):
        read_pairs(tmp_path / "no.jsonl", prepared)
    with pytest.raises(ArtifactError, match=r"no\.parquet: no such file"):
        read_pairs(decoded, tmp_path / "no.parquet")
    prepared.write_bytes(b"PAR1 no parquet")
    with pytest.raises(ArtifactError, match=r"test\.parquet: ") as caught:
        read_pairs(decoded, prepared)
    assert "\n" not in str(caught.value)
    pq.write_table(pa.table({"id": [1]}), prepared)
    with pytest.raises(ArtifactError, match=r"test\.parquet: "):
        read_pairs(decoded, prepared)


def test_rows_without_ids_are_numbered_as_decode_numbers_them(
    tmp_path: Path, prepared: Path
) -> None:
    table = pq.read_table(prepared).drop_columns(["id", "corpus"])
    pq.write_table(table, prepared)
    decoded = decode(tmp_path, [{"id": row, "text": f"t{row}"} for row in range(3)])
    assert [pair[:5] for pair in read_pairs(decoded, prepared)] == [
        (0, "parts", "你好", "Hello", "t0"),
        (1, "parts", "谢谢", "Thanks", "t1"),
        (2, "parts", "再见", "Bye", "t2"),
    ]


def test_translations_of_another_split_are_refused(tmp_path: Path, prepared: Path) -> None:
    decoded = decode(tmp_path, GOOD)
    index = tmp_path / "index.json"
    write_header(index, *DECODED, {"test": digest_path(prepared)})
    whole = read_pairs(decoded, prepared)
    # The same ids and another text: nothing else would tell.
    table = pq.read_table(prepared)
    changed = ["Hi", *table.column("tgt").to_pylist()[1:]]
    pq.write_table(table.set_column(3, "tgt", pa.array(changed)), prepared)
    with pytest.raises(ArtifactError, match=r"index\.json: translations of a test split") as caught:
        read_pairs(decoded, prepared)
    assert "\n" not in str(caught.value)
    index.unlink()
    assert [pair.hypothesis for pair in read_pairs(decoded, prepared)] == [
        pair.hypothesis for pair in whole
    ]


def test_places_are_those_of_the_groups(tmp_path: Path, prepared: Path) -> None:
    pairs = read_pairs(decode(tmp_path, GOOD), prepared)
    places = places_by_corpus(pairs)
    assert {name: [pairs[i] for i in found] for name, found in places.items()} == by_corpus(pairs)
    assert list(places) == ["everyday", "hsk"]
