"""Readers: what ends a row, what a quote is, which line a fault is on."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from hanyi.corpus.formats import FORMATS
from hanyi.corpus.formats.encodings import guess_encoding
from hanyi.corpus.formats.text import ENCODINGS, lines
from hanyi.corpus.pairs import RawFile, Row
from hanyi.errors import DataError


def describe(**changes: Any) -> RawFile:
    fields: dict[str, Any] = {
        "corpus": "mine", "role": "train", "path": "mine.txt", "format": "tsv", "delimiter": "\t",
        "src_column": 0, "tgt_column": 1, "columns": 2, "header": False, "encoding": "utf-8",
        "source": "mine.txt",
    }  # fmt: skip
    return RawFile(**fields | changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine.txt"


def read(path: Path, content: bytes | str, **changes: Any) -> list[Row]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    file = describe(**changes)
    return list(FORMATS[file.format].read(path, file))


def inspect(path: Path, content: bytes | str, **changes: Any) -> RawFile:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    file = describe(**changes)
    return FORMATS[file.format].inspect(path, file, section="fetch.files")


def refused(path: Path, content: bytes | str, **changes: Any) -> str:
    with pytest.raises(DataError) as caught:
        inspect(path, content, **changes)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(path))


def test_only_newlines_end_a_tsv_line(path: Path) -> None:
    odd = "a\u2028b\x85c\x0bd\x0ce\x1cf\rg\0h"
    assert read(path, f"{odd}\tx\r\ny\tz\n") == [Row(1, odd, "x", None), Row(2, "y", "z", None)]


def test_a_tsv_knows_no_quotes(path: Path) -> None:
    assert read(path, '"a\t"b""\n"\tc\n') == [Row(1, '"a', '"b""', None), Row(2, '"', "c", None)]


@pytest.mark.parametrize("content", ["\ufeffa\tb\n", "a\tb", "a\tb\r\n"])
def test_mark_and_ends_are_no_text(path: Path, content: str) -> None:
    assert read(path, content) == [Row(1, "a", "b", None)]


def test_a_mark_alone_is_no_row(path: Path) -> None:
    assert read(path, "\ufeff") == []
    assert read(path, "") == []


def test_faulty_rows_keep_line_and_text(path: Path) -> None:
    content = b"a\tb\n\na\tb\tc\nalone\nx\xff\ty\n \t \n"
    assert read(path, content) == [
        Row(1, "a", "b", None),
        Row(2, "", "", "blank"),
        Row(3, "a\tb\tc", "", "columns"),
        Row(4, "alone", "", "columns"),
        Row(5, "x\ufffd\ty", "", "encoding"),
        Row(6, " \t ", "", "blank"),
    ]


def test_header_is_no_row_but_counts_as_a_line(path: Path) -> None:
    assert read(path, "en\tzh\na\tb\n", header=True) == [Row(2, "a", "b", None)]


def test_columns_and_delimiter(path: Path) -> None:
    rows = read(path, "1|a|b\n", delimiter="|", src_column=2, tgt_column=1, columns=3)
    assert rows == [Row(1, "b", "a", None)]


def test_gzip_is_told_by_its_bytes(path: Path) -> None:
    assert read(path, gzip.compress("好\tgood\n".encode())) == [Row(1, "好", "good", None)]


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if name != "latin-1"])
def test_a_broken_byte_spoils_its_own_line_only(path: Path, encoding: str) -> None:
    def encoded(text: str) -> bytes:
        return text.encode(encoding).removeprefix(b"\xff\xfe")

    broken = b"\x00\xd8" if encoding != "utf-16-be" else b"\xd8\x00"
    broken = broken if encoding.startswith("utf-16") else b"\x81"
    start = b"\xff\xfe" if encoding == "utf-16" else b""
    content = start + encoded("a\tb\nc") + broken + encoded("\nd\te\n")
    rows = read(path, content, encoding=encoding)
    assert [(row.line, row.fault) for row in rows] == [(1, None), (2, "encoding"), (3, None)]


@pytest.mark.parametrize("prefix", [b"\x81", b"\x81\x30", b"\x81\x30\x81", b"\x8f", b"\xfe"])
@pytest.mark.parametrize("encoding", ["gb18030", "gbk", "big5", "euc-jp", "shift_jis", "euc-kr"])
def test_broken_characters_never_swallow_the_line_end(
    path: Path, prefix: bytes, encoding: str
) -> None:
    path.write_bytes(b"a\n" + prefix + b"\nb\n")
    found = list(lines(path, encoding))
    assert (len(found), found[0], found[-1]) == (3, "a", "b")


def test_csv_fields(path: Path) -> None:
    content = 'a,b\r\n"x, y","say ""hi"""\r\n"one\r\ntwo",z\r\n"",""\nlast,"end"'
    assert read(path, content, format="csv", delimiter=",") == [
        Row(1, "a", "b", None),
        Row(2, "x, y", 'say "hi"', None),
        Row(3, "one\ntwo", "z", None),
        Row(5, "", "", None),
        Row(6, "last", "end", None),
    ]


def test_csv_faults_cost_one_line_each(path: Path) -> None:
    content = '"open,x\na,b\n"a"b,c\n\n,\nx,"y\nsay "hi",z\n'
    assert read(path, content, format="csv", delimiter=",") == [
        Row(1, '"open,x', "", "quotes"),
        Row(2, "a", "b", None),
        Row(3, '"a"b,c', "", "quotes"),
        Row(4, "", "", "blank"),
        Row(5, "", "", None),
        Row(6, 'x,"y', "", "quotes"),
        Row(7, 'say "hi"', "z", None),
    ]


def test_a_csv_quote_left_open_does_not_eat_the_file(path: Path) -> None:
    content = '"open,x\n' + "a,b\n" * 500
    rows = read(path, content, format="csv", delimiter=",")
    assert [row.fault for row in rows] == ["quotes", *[None] * 500]


def test_csv_undecodable_row(path: Path) -> None:
    rows = read(path, b'a,b\n"x\ny\xff",z\nc,d\n', format="csv", delimiter=",")
    assert [(row.line, row.fault) for row in rows] == [(1, None), (2, "encoding"), (4, None)]


def test_inspect_counts_the_columns_of_most_rows(path: Path) -> None:
    assert inspect(path, "a\tb\tc\na\tb\na\tb\tc\n", src_column=0, tgt_column=1).columns == 3


GOOD = "I see.\t我看见。\nGo on.\t继续。\nStop it.\t停下。\n"


@pytest.mark.parametrize(
    ("content", "changes", "words"),
    [
        ("", {}, [":1", "empty"]),
        ("\ufeff", {}, [":1", "empty"]),
        ("\n\n", {}, [":1", "blank"]),
        ("en\tzh\n", {"header": True}, [":1", "no rows"]),
        (GOOD, {"src_column": 5}, [":1", "2 columns", "at least 6", "src_column, now 5"]),
        (GOOD, {"delimiter": ";"}, [":1", "1 column", 'fetch.files.delimiter to "\\t"']),
        (GOOD, {"delimiter": " "}, [":1", "tabs", 'fetch.files.delimiter to "\\t"']),
        (GOOD.replace(" ", ","), {"delimiter": ","}, [":1", "tabs", 'delimiter to "\\t"']),
        ("only\nwords\nhere\n", {}, [":1", "1 column", "fetch.files.delimiter"]),
        ("english\tchinese\n" + GOOD, {}, [":1", "header", "fetch.files.header: true"]),
        ("source_text\tTarget Text\n" + GOOD, {}, [":1", "header", "fetch.files.header: true"]),
        ("Sentence (EN)\tSentence (zh-CN)\n" + GOOD, {}, [":1", "header"]),
        ('"English"\t"中文"\n' + GOOD, {}, [":1", "header", "fetch.files.header: true"]),
        (GOOD.encode("utf-16"), {}, [":1", "fetch.files.encoding: utf-16"]),
        (GOOD.encode("utf-16-le"), {}, ["fetch.files.encoding: utf-16-le"]),
        (GOOD.encode("utf-16-be"), {}, ["fetch.files.encoding: utf-16-be"]),
        (GOOD.encode("gb18030"), {}, [":1", "utf-8", "fetch.files.encoding: gb18030"]),
        (GOOD, {"encoding": "gb18030"}, ["fetch.files.encoding: utf-8"]),
        ("a\tb\n" * 9, {"encoding": "utf-16"}, ["fetch.files.encoding: utf-8"]),
        ("1\ta\tb\n2\tc\td\n3\te\tf\n", {}, [":1", "no letter", "fetch.files.src_column"]),
        (
            "a,b,c,d\na,b\na,b,c\na\n",
            {"delimiter": ","},
            [":", "columns", "fetch.files.delimiter", "fetch.files.format"],
        ),
        ('"x\n"y\n"z\n', {"format": "csv"}, [":1", "quote", "fetch.files.format: tsv"]),
        (b"PK\x03\x04zipped", {}, ["zip", "unpack"]),
        (b"\x1f\x8b\x08 no gzip at all", {}, ["gzip", "again"]),
        (gzip.compress(GOOD.encode() * 999)[:-9], {}, ["gzip", "again"]),
    ],
)
def test_first_rows_that_make_no_sense(
    path: Path, content: bytes | str, changes: dict[str, Any], words: list[str]
) -> None:
    line = refused(path, content, **changes)
    for word in words:
        assert word in line


def test_few_faulty_rows_are_no_error(path: Path) -> None:
    content = GOOD.encode() + b"\n\xff\tx\nalone\n"
    assert inspect(path, content).columns == 2


@pytest.mark.parametrize("first", ["Chinese food\t中国菜", "en\t好", "Hi.\t源"])
def test_a_pair_is_no_header(path: Path, first: str) -> None:
    assert inspect(path, f"{first}\n{GOOD}").columns == 2


def test_guesses() -> None:
    assert guess_encoding(b"plain") is None
    assert guess_encoding("好".encode() * 50_000) == "utf-8"
    assert guess_encoding(("好" * 50_000).encode()[: 1 << 16]) == "utf-8"
    assert guess_encoding(b"\xff\xfe") == "utf-16"
    assert guess_encoding("中文".encode("gb18030")) == "gb18030"
    assert guess_encoding(b"\xff\xff\xff") is None


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(lines(tmp_path / "gone", "utf-8"))
    with pytest.raises(DataError, match="a folder"):
        list(lines(tmp_path, "utf-8"))
