"""Every line of input belongs to exactly one row, whatever the bytes and however they come."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from hypothesis import event, given, settings
from hypothesis import strategies as st

from hanyi.corpus.formats import FORMATS, decide, peek, text
from hanyi.corpus.formats.arrays import rows_in
from hanyi.corpus.formats.inputs import Input
from hanyi.corpus.formats.packing import packing_of
from hanyi.corpus.formats.text import ENCODINGS
from hanyi.corpus.tables import Row
from hanyi.errors import DataError
from tests.structured import make_input

PIECES = [
    "a", "B.", "好", "。", "\t", ",", '"', '""', "\n", "\r\n", "\r", "\0", "\u2028", "\x85", "\x0b",
    "\x0c", "\u3000", "\xa0", " ", "\ufeff", "\ufffd", "e\u0301", "𠮷", "😀", "a\tb\n", '"a,b\n',
]  # fmt: skip
BROKEN = [b"\xff", b"\x81", b"\xe4\xbd", b"\xed\xa0\x80", b"\xc0\x80", b"\xf0\x9f"]
WIDE = ("utf-16-le", "utf-16-be")
mixed = st.lists(
    st.sampled_from([piece.encode() for piece in PIECES] + BROKEN) | st.binary(max_size=3),
    max_size=60,
).map(b"".join)
messy = mixed.filter(lambda content: not packing_of(content))
sizes = st.sampled_from([1, 2, 3, 7, 64, 1 << 23])
narrow = st.sampled_from([name for name in ENCODINGS if not name.startswith("utf-16")])
quick = settings(deadline=None)


@contextmanager
def files(*contents: bytes, size: int = 1 << 23, **reading: object) -> Iterator[Input]:
    """Write files and describe them as `decide` would, to be read in blocks of `size` bytes."""
    settled = {"encoding": "utf-8", "delimiter": "\t", "src_column": 0, "tgt_column": 1}
    with tempfile.TemporaryDirectory() as folder, patch.object(text, "BLOCK_BYTES", size):
        paths = [Path(folder) / str(number) for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        yield replace(make_input(*paths, **{**settled, **reading}), columns=2)


def read(format_: str, *contents: bytes, size: int = 1 << 23, **reading: object) -> list[Row]:
    with files(*contents, size=size, **reading) as file:
        return [row for block in FORMATS[format_].read(file) for row in rows_in(block)]


def plain_lines(content: bytes, encoding: str = "utf-8") -> list[tuple[str, bool]]:
    """Define what the lines of a file are, and which cannot be decoded, one by one."""
    newline = "\n".encode(encoding)
    step = len(newline)
    ends = [
        at + step
        for at in range(0, len(content), step)
        if content[at : at + step] == newline
    ]  # fmt: skip
    found = []
    for start, end in zip([0, *ends], [*ends, len(content)], strict=True):
        line = content[start:end]
        if not line:
            continue
        try:
            decoded, broken = line.decode(encoding), False
        except UnicodeDecodeError:
            decoded, broken = line.removesuffix(newline).decode(encoding, "replace"), True
        decoded = decoded if found else decoded.removeprefix("\ufeff")
        if decoded or found or broken:
            found.append((decoded.removesuffix("\n").removesuffix("\r"), broken))
    return found


def plain_row(number: int, line: str, *, broken: bool) -> Row:
    """Define what a line of TSV is."""
    cells = line.split("\t")
    if broken or not line.strip() or len(cells) != 2:
        return Row(
            number, line, "", "encoding" if broken else "columns" if line.strip() else "blank"
        )
    return Row(number, cells[0], cells[1], None)


@quick
@given(messy, sizes)
def test_tsv_is_what_its_lines_are(content: bytes, size: int) -> None:
    lines = plain_lines(content)
    expected = [plain_row(n, line, broken=bad) for n, (line, bad) in enumerate(lines, start=1)]
    assert read("tsv", content, size=size) == expected


@quick
@given(messy, narrow, sizes)
def test_no_encoding_eats_line_ends(content: bytes, encoding: str, size: int) -> None:
    rows = read("tsv", content, size=size, encoding=encoding)
    lines = plain_lines(content, encoding)
    assert [row.line for row in rows] == list(range(1, len(lines) + 1))
    assert [row.fault == "encoding" for row in rows] == [broken for _, broken in lines]
    for row, (line, broken) in zip(rows, lines, strict=True):
        if not broken:
            assert row == plain_row(row.line, line, broken=False)
    assert rows == read("tsv", content, encoding=encoding)


@quick
@given(
    st.lists(st.sampled_from([*PIECES, "\ud800", "\u0a0a", "\u0a00"]), max_size=40).map("".join),
    st.sampled_from(WIDE),
    st.binary(max_size=1),
    sizes,
)
def test_every_utf16_line_is_one_row(line: str, encoding: str, odd: bytes, size: int) -> None:
    content = line.encode(encoding, "surrogatepass") + odd
    rows = read("tsv", content, size=size, encoding=encoding)
    lines = plain_lines(content, encoding)
    assert [row.fault == "encoding" for row in rows] == [broken for _, broken in lines]
    assert rows == read("tsv", content, encoding=encoding)


@quick
@given(messy, sizes)
def test_every_csv_line_belongs_to_one_row(content: bytes, size: int) -> None:
    rows = read("csv", content, size=size, delimiter=",")
    assert rows == read("csv", content, delimiter=",")
    total = len(plain_lines(content))
    starts = [row.line for row in rows]
    assert starts == sorted(set(starts))
    assert starts[:1] == [1][:total]
    for row, after in zip(rows, [*starts[1:], total + 1], strict=bool(rows)):
        if row.fault in {"blank", "quotes"}:
            assert after == row.line + 1
        elif row.fault is None:  # only quoted line ends make a row longer
            assert after - row.line - 1 == (row.src + row.tgt).count("\n")


@quick
@given(messy.filter(lambda content: b'"' not in content), sizes)
def test_csv_without_quotes_is_tsv(content: bytes, size: int) -> None:
    assert read("csv", content, size=size) == read("tsv", content)


@quick
@given(messy, messy, sizes)
def test_every_moses_line_belongs_to_one_row(src: bytes, tgt: bytes, size: int) -> None:
    lines = plain_lines(src), plain_lines(tgt)
    try:
        rows = read("moses", src, tgt, size=size)
    except DataError as error:
        event("unequal")
        assert f"{len(lines[0])} lines beside {len(lines[1])}" in str(error)  # noqa: PT017
        assert len(lines[0]) != len(lines[1])
        return
    event("equal")
    expected = []
    for number, ((first, bad), (second, worse)) in enumerate(zip(*lines, strict=True), start=1):
        blank = not (first.strip() or second.strip())
        fault = "encoding" if bad or worse else "blank" if blank else None
        joined = (f"{first}\t{second}", "") if fault else (first, second)
        expected.append(Row(number, *joined, fault))
    assert rows == expected


@quick
@given(
    st.sampled_from([b"", "Go on.\t继续。\n".encode() * 9, "Go.,走。\n".encode("gbk") * 9]),
    messy,
    st.sampled_from(["auto", "tsv", "csv"]),
    st.booleans(),
)
def test_anything_is_rows_or_one_line(
    start: bytes, content: bytes, format_: str, header: bool
) -> None:
    content = start + content
    with files(
        content,
        format=format_,
        encoding="auto",
        delimiter="auto",
        header=header,
        src_column=1,
        tgt_column=0,
    ) as file:
        try:
            decided = decide(file)
            rows = peek(decided, 1000)
        except DataError as error:
            event("refused")
            assert "\n" not in str(error)  # noqa: PT017
            return
    event("read")
    if decided.reading.format == "tsv":
        lines = plain_lines(content, decided.reading.encoding)
        assert len(rows) == len(lines) - header
