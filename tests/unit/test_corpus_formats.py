"""Readers of text: what ends a row, what a quote is, which line a fault is on."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from hanyi.corpus.formats import FORMATS, moses
from hanyi.corpus.formats.inputs import Input
from hanyi.corpus.formats.text import ENCODINGS
from hanyi.corpus.tables import ROW_GROUP, ROWS, Row
from hanyi.errors import DataError
from tests.structured import make_input


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine.txt"


def decided(*paths: Path, columns: int = 2, **reading: object) -> Input:
    """Describe files as `decide` would."""
    defaults = {"format": "tsv", "encoding": "utf-8", "src_column": 0, "tgt_column": 1}
    file = make_input(*paths, **{**defaults, "delimiter": "\t", **reading})
    return replace(file, columns=columns)


def rows_of(file: Input) -> list[Row]:
    rows: list[Row] = []
    for block in FORMATS[file.reading.format].read(file):
        assert block.schema.equals(ROWS)
        assert 0 < block.num_rows <= ROW_GROUP
        block.validate(full=True)
        rows += [Row(**row) for row in block.to_pylist()]
    return rows


def read(path: Path, content: bytes | str, columns: int = 2, **reading: object) -> list[Row]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return rows_of(decided(path, columns=columns, **reading))


def test_only_newlines_end_a_tsv_line(path: Path) -> None:
    odd = "a\u2028b\x85c\x0bd\x0ce\x1cf\rg\0h"
    assert read(path, f"{odd}\tx\r\ny\tz\n") == [Row(1, odd, "x", None), Row(2, "y", "z", None)]


def test_a_tsv_knows_no_quotes(path: Path) -> None:
    assert read(path, '"a\t"b""\n"\tc\n') == [Row(1, '"a', '"b""', None), Row(2, '"', "c", None)]


@pytest.mark.parametrize("format_", ["tsv", "csv"])
@pytest.mark.parametrize("content", ["\ufeffa\tb\n", "a\tb", "a\tb\r\n", "a\tb\r"])
def test_mark_and_ends_are_no_text(path: Path, content: str, format_: str) -> None:
    assert read(path, content, format=format_) == [Row(1, "a", "b", None)]


@pytest.mark.parametrize("format_", ["tsv", "csv"])
def test_a_mark_alone_is_no_row(path: Path, format_: str) -> None:
    assert read(path, "\ufeff", format=format_) == []
    assert read(path, "", format=format_) == []


@pytest.mark.parametrize("format_", ["tsv", "csv"])
def test_faulty_rows_keep_line_and_text(path: Path, format_: str) -> None:
    content = b"a\tb\n\na\tb\tc\nalone\nx\xff\ty\r\n \t\xe3\x80\x80\n\xff\n\t\n\r\n\xe2\x80\x9c\t\n"
    assert read(path, content, format=format_) == [
        Row(1, "a", "b", None),
        Row(2, "", "", "blank"),
        Row(3, "a\tb\tc", "", "columns"),
        Row(4, "alone", "", "columns"),
        Row(5, "x\ufffd\ty", "", "encoding"),
        Row(6, " \t\u3000", "", "blank"),
        Row(7, "\ufffd", "", "encoding"),
        Row(8, "\t", "", "blank"),
        Row(9, "", "", "blank"),
        Row(10, "“", "", None),
    ]


def test_a_replacement_character_of_the_file_is_text(path: Path) -> None:
    assert read(path, "a\ufffd\tb\n") == [Row(1, "a\ufffd", "b", None)]


@pytest.mark.parametrize("format_", ["tsv", "csv"])
def test_header_is_no_row_but_counts_as_a_line(path: Path, format_: str) -> None:
    rows = read(path, "en\tzh\na\tb\n", format=format_, header=True)
    assert rows == [Row(2, "a", "b", None)]
    assert read(path, "en\tzh\n", format=format_, header=True) == []


@pytest.mark.parametrize("delimiter", ["|", "｜", "é"])
@pytest.mark.parametrize("format_", ["tsv", "csv"])
def test_columns_and_delimiter(path: Path, delimiter: str, format_: str) -> None:
    # The first byte of each long delimiter is that of other characters too.
    content = "1|＄a|b\n2|ì\n\n".replace("|", delimiter)
    rows = read(
        path, content, columns=3, format=format_, delimiter=delimiter, src_column=2, tgt_column=1
    )
    assert rows == [
        Row(1, "b", "＄a", None),
        Row(2, f"2{delimiter}ì", "", "columns"),
        Row(3, "", "", "blank"),
    ]


def test_more_rows_than_a_block_may_have(path: Path) -> None:
    count = ROW_GROUP + 5
    rows = read(path, "a\tb\n" * count)
    assert [row.line for row in rows] == list(range(1, count + 1))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_very_long_line_is_read_once(path: Path, encoding: str) -> None:
    content = "短\t" + "长 " * 12_000_000 + "\n短\t短"
    started = time.monotonic()
    rows = read(path, content.encode(encoding), encoding=encoding)
    assert time.monotonic() - started < 20  # seconds; each block searched anew would take minutes
    assert [(row.line, len(row.tgt)) for row in rows] == [(1, 24_000_000), (2, 1)]


def test_a_line_without_end_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hanyi.corpus.formats.text.LINE_BYTES", 1 << 20)
    with pytest.raises(DataError, match="more than 1 MiB"):
        read(path, "x" * (1 << 24))


@pytest.mark.parametrize(
    "encoding", [name for name in ENCODINGS if not name.startswith(("iso8859", "koi8", "cp125"))]
)
def test_a_broken_byte_spoils_its_own_line_only(path: Path, encoding: str) -> None:
    def encoded(text: str) -> bytes:
        return text.encode(encoding).removeprefix(b"\xff\xfe")

    broken = b"\x00\xd8" if encoding != "utf-16-be" else b"\xd8\x00"
    broken = (
        broken if encoding.startswith("utf-16") else b"\x81" if encoding != "tis-620" else b"\xff"
    )
    start = b"\xff\xfe" if encoding == "utf-16" else b""
    content = start + encoded("a\tb\nc") + broken + encoded("\nd\te\n")
    rows = read(path, content, encoding=encoding)
    assert [(row.line, row.fault) for row in rows] == [(1, None), (2, "encoding"), (3, None)]
    assert rows[1].src.startswith("c\ufffd")


@pytest.mark.parametrize("prefix", [b"\x81", b"\x81\x30", b"\x81\x30\x81", b"\x8f", b"\xfe"])
@pytest.mark.parametrize("encoding", ["gb18030", "gbk", "big5", "euc_jp", "shift_jis", "euc_kr"])
def test_broken_characters_never_swallow_the_line_end(
    path: Path, prefix: bytes, encoding: str
) -> None:
    rows = read(path, b"a\t1\n" + prefix + b"\nb\t2\n", encoding=encoding)
    assert (len(rows), rows[0].src, rows[-1].src) == (3, "a", "b")


def test_utf16_units_that_look_like_line_ends_and_tabs(path: Path) -> None:
    text = "\u0a0a\u0a00\u0900\ta\u000d\u010a\r\nb\t\u4e0a\n"
    for encoding in ("utf-16-le", "utf-16-be"):
        assert read(path, text.encode(encoding), encoding=encoding) == [
            Row(1, "\u0a0a\u0a00\u0900", "a\u000d\u010a", None),
            Row(2, "b", "\u4e0a", None),
        ]


def test_half_a_unit_at_the_end_of_utf16(path: Path) -> None:
    rows = read(path, "a\tb\nc\td".encode("utf-16") + b"\n", encoding="utf-16")
    assert [row.fault for row in rows] == [None, "encoding"]


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


def test_long_csv_fields_are_read_once(path: Path) -> None:
    field = "\n".join(["x" * 20_000] * 99)
    started = time.monotonic()
    rows = read(path, f'"{field}",y\n' * 20, format="csv", delimiter=",")
    assert time.monotonic() - started < 20  # seconds
    assert rows == [Row(1 + 99 * n, field, "y", None) for n in range(20)]


def test_csv_undecodable_row(path: Path) -> None:
    rows = read(path, b'a,b\n"x\ny\xff",z\nc,d\n', format="csv", delimiter=",")
    assert [(row.line, row.fault) for row in rows] == [(1, None), (2, "encoding"), (4, None)]


def test_moses_pairs_lines(tmp_path: Path) -> None:
    zh, en = tmp_path / "x.zh", tmp_path / "x.en"
    zh.write_bytes("\ufeff你好\t。\r\n\r\n \n坏\xff\n有\n".encode() + b"\xff\n\n")
    en.write_bytes(b"Hi.\n\n\nBad \xff\n \nBad\nThere")
    rows = rows_of(decided(zh, en, format="moses"))
    assert rows == [
        Row(1, "你好\t。", "Hi.", None),
        Row(2, "\t", "", "blank"),
        Row(3, " \t", "", "blank"),
        Row(4, "坏\xff\tBad \ufffd", "", "encoding"),
        Row(5, "有", " ", None),
        Row(6, "\ufffd\tBad", "", "encoding"),
        Row(7, "", "There", None),
    ]


@pytest.mark.parametrize(("zh", "en"), [(3, 2), (2, 3), (0, 1), (200_000, 199_999)])
def test_moses_of_unequal_length_is_refused(tmp_path: Path, zh: int, en: int) -> None:
    (tmp_path / "x.zh").write_text("好的\n" * zh, encoding="utf-8")
    (tmp_path / "x.en").write_text("Good enough\n" * en, encoding="utf-8")
    file = decided(tmp_path / "x.zh", tmp_path / "x.en", format="moses")
    with pytest.raises(DataError, match=f"{zh} lines beside {en}"):
        rows_of(file)
    if zh < 10:
        with pytest.raises(DataError, match=f"{zh} lines beside {en}"):
            moses.inspect(file)
