"""JSON Lines: keys by name, by path and by language, and the faults of lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from hanyi.corpus.formats import jsonl
from hanyi.corpus.tables import Row
from hanyi.errors import DataError
from tests.structured import make_input, read_rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pairs.jsonl"


def rows_of(path: Path, *records: object, **reading: object) -> list[Row]:
    lines = [one if isinstance(one, str) else json.dumps(one) for one in records]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return read_rows(jsonl, make_input(path, **reading))


@pytest.mark.parametrize(
    "record",
    [
        {"translation": {"en": "Hi.", "fr": "Salut.", "zh": "你好。"}},
        {"id": "0", "zh": "你好。", "en": "Hi."},
        {"zh-CN": "你好。", "en_US": "Hi.", "score": 1.5},
        {"zh-TW": "妳好。", "zh": "你好。", "en": "Hi.", "en-GB": "Hello."},
        {"src": "你好。", "tgt": "Hi."},
        {"target": "Hi.", "source": "你好。"},
    ],
)
def test_keys_are_found(path: Path, record: object) -> None:
    assert rows_of(path, record, record) == [Row(n, "你好。", "Hi.", None) for n in (1, 2)]


def test_keys_that_are_named(path: Path) -> None:
    record = {"a": {"b": {"c": "好"}}, "a.b": "good", "zh": "x", "en": "y"}
    named = {"src_column": "a.b.c", "tgt_column": "a.b"}
    assert rows_of(path, record, **named) == [Row(1, "好", "good", None)]


def test_one_key_is_named_and_the_other_found(path: Path) -> None:
    record = {"text": "好", "zh": "x", "en": "y"}
    assert rows_of(path, record, src_column="text") == [Row(1, "好", "y", None)]


def test_faults(path: Path) -> None:
    good = {"zh": "你", "en": "you"}
    found = rows_of(
        path, *10 * [good], "", " \t", "[1]", "{", "null", '{"zh": "a", "en": "b"} x', 10_000 * "[",
        {"zh": "x"}, {"zh": "x", "en": None}, {"zh": 1, "en": "x"}, {"zh": {}, "en": "y"},
        '{"zh": "\\ud83d", "en": "x"}', '{"zh": "\\ud83d\\ude00", "en": "x"}',
        '{"zh": ' + 10_000 * "9" + ', "en": "x"}', '{"zh": NaN, "en": "\\n"}',
    )  # fmt: skip
    assert [row.fault for row in found[10:]] == [
        "blank", "blank", "json", "json", "json", "json", "json",
        "columns", "columns", "columns", "columns", "encoding", None, "columns", "columns",
    ]  # fmt: skip
    assert found[17] == Row(18, '{"zh": "x"}', "", "columns")
    assert found[22] == Row(23, "😀", "x", None)


def test_undecodable_bytes(path: Path) -> None:
    good = '{"zh": "你", "en": "you"}\r\n'.encode()
    path.write_bytes(b"\xef\xbb\xbf" + good + b'{"zh": "\xff", "en": "x"}\n' + 3 * good[:-2])
    path.write_bytes(path.read_bytes().replace(b"}{", b"}\n{"))
    found = read_rows(jsonl, make_input(path))
    assert [row.fault for row in found] == [None, "encoding", None, None, None]
    assert found[1] == Row(2, '{"zh": "�", "en": "x"}', "", "encoding")


def test_packed_and_in_another_encoding(path: Path) -> None:
    text = 50 * '{"zh": "你好，世界。", "en": "Hello, world."}\n'
    path.write_bytes(gzip.compress(text.encode("gb18030")))
    found = read_rows(jsonl, make_input(path, encoding="gb18030"))
    assert found[-1] == Row(50, "你好，世界。", "Hello, world.", None)


@pytest.mark.parametrize(
    ("records", "reading", "message"),
    [
        ([{"q": "x", "a": {"b": "y"}}], {}, r"pairs.jsonl:1: keys q, a.b, .*one for zh and one"),
        ([{"zh": "x"}], {}, "keys zh"),
        ([{"zh": "x", "en": "y"}], {"src_column": "cn"}, "keys zh, en, expected a string in cn"),
        ([{"zh": "x", "en": 1}], {"tgt_column": "en", "src_column": "zh"}, "tgt_column"),
        (['{"\\ud800": "x"}'], {}, r"keys \?, "),
        (["", " "], {}, "no lines"),
        (["[", '{"zh": "x"},', "]"], {}, "a JSON array, .*jq"),
        (["你好\tHi"], {}, r"pairs.jsonl:1: '你好"),
        ([{"zh-TW": "x", "zh-CN": "y", "en": "z"}], {}, "keys zh-TW, zh-CN, en"),
    ],
)
def test_files_that_cannot_be_understood(
    path: Path, records: list[object], reading: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        rows_of(path, *records, **reading)


def test_a_wrong_encoding_is_told(path: Path) -> None:
    path.write_bytes(50 * '{"zh": "你好，世界。", "en": "Hello."}\n'.encode("gb18030"))
    with pytest.raises(DataError, match="encoding"):
        jsonl.inspect(make_input(path, encoding="utf-8"))
