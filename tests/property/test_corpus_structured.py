"""Every unit, line, row, entry and segment is a row; any bytes give rows or a fault in one line."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pyarrow import parquet as writer

from hanyi.corpus.formats import jsonl, parquet, po, sgm, tmx
from hanyi.corpus.tables import Row
from hanyi.errors import DataError
from tests.structured import make_input, read_rows

# Spaces and quotes of all kinds, what marks something in one of the formats, and what is no text.
PIECES = [
    "a", "B.", "好", "。", "𠮷", "\u2028", "\x85", "\u3000", "\xa0", "\ufeff", "\ufffd", "\t", "\n",
    '"', "'", "\\", "\\n", "<", ">", "</seg>", "&", "&amp;", "&#20320;", "&#11;", "{", "}", "[",
    "#", "#~", "%d", "\0", "\x0b", "\x1f", "\ufdd0", "\uffff",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
codes = st.sampled_from(["zh", "zh-CN", "ZH_hant", "en", "EN-us", "fr", "", "x", "好"])
pairs = st.lists(st.tuples(texts, texts), min_size=1, max_size=8)
GOOD = ("好的", "Good.")


@contextmanager
def files(*contents: bytes) -> Iterator[list[Path]]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"file{number}") for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        yield paths


def rows_of(reader: ModuleType, *contents: bytes, **reading: object) -> list[Row]:
    with files(*contents) as paths:
        return read_rows(reader, make_input(*paths, **reading))  # type: ignore[arg-type]


def xml(text: str) -> str:
    return escape(text).replace("\0", "&#0;")


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(codes, texts), max_size=4), max_size=8))
def test_tmx(units: list[list[tuple[str, str]]]) -> None:
    body = [
        "<tu>{}</tu>".format(
            "".join(
                f"<tuv xml:lang={quoteattr(code)}><seg>{xml(text)}</seg></tuv>"
                for code, text in unit
            )
        )
        for unit in [[("zh", GOOD[0]), ("en", GOOD[1])], *units]
    ]
    found = rows_of(tmx, f"<tmx><body>{''.join(body)}</body></tmx>".encode(), encoding="utf-8")
    assert len(found) == 1 + len(units)
    for row, unit in zip(found[1:], units, strict=True):
        event(str(row.fault))
        if row.fault is None:
            assert [row.src, row.tgt] == [
                next(text for code, text in unit if code.lower().startswith(side))
                for side in ("zh", "en")
            ]


records = st.one_of(
    st.builds(lambda src, tgt: {"zh": src, "en": tgt}, texts, texts),
    st.dictionaries(
        st.sampled_from(["zh", "en", "fr", "translation"]),
        st.one_of(texts, st.none(), st.integers(), st.floats(), st.lists(texts, max_size=2)),
    ),
    st.lists(texts, max_size=2),
    texts,
)


@settings(deadline=None)
@given(st.lists(records, max_size=10), st.booleans())
def test_jsonl(records: list[object], ascii_: bool) -> None:
    good = {"zh": GOOD[0], "en": GOOD[1]}
    lines = [json.dumps(one, ensure_ascii=ascii_) for one in 10 * [good] + records]
    found = rows_of(jsonl, "\n".join([*lines, ""]).encode())
    assert [row.line for row in found] == list(range(1, len(lines) + 1))
    for row, record, line in zip(found[10:], records, lines[10:], strict=True):
        event(str(row.fault))
        if isinstance(record, dict) and all(isinstance(record.get(x), str) for x in ("zh", "en")):
            assert row == Row(row.line, record["zh"], record["en"], None)
        else:
            assert row == Row(row.line, line, "", "columns" if isinstance(record, dict) else "json")


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.one_of(st.none(), texts), st.one_of(st.none(), texts)), min_size=1),
    st.sampled_from([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]),
    st.integers(1, 9),
)
def test_parquet(rows: list[tuple[str | None, str | None]], kind: pa.DataType, group: int) -> None:
    sides = [pa.array(side, pa.string()).cast(kind) for side in zip(*rows, strict=True)]
    file = io.BytesIO()
    writer.write_table(pa.table(sides, names=["zh", "en"]), file, row_group_size=group)
    found = rows_of(parquet, file.getvalue())
    assert [(row.line, row.fault) for row in found] == [
        (number, "columns" if None in row else None) for number, row in enumerate(rows, start=1)
    ]
    assert [(row.src, row.tgt) for row in found if not row.fault] == [
        row for row in rows if None not in row
    ]


def quoted(text: str) -> str:
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f'"{text}"'


@settings(deadline=None)
@given(
    pairs, st.sampled_from(["", "#, fuzzy\n", "#~ ", "# comment\n", "#| msgid\n"]), st.booleans()
)
def test_po(pairs: list[tuple[str, str]], mark: str, plural: bool) -> None:
    second = "#~ " if mark == "#~ " else ""
    body = []
    for message, translation in pairs:
        lines = [f'{mark}msgid "m"', f"{second}{quoted(message)}"]
        if plural:
            lines.append(f"{second}msgid_plural {quoted(message)}")
        lines += [f"{second}msgstr{'[0]' if plural else ''} {quoted(translation)}", "", ""]
        body.append("\n".join(lines))
    head = 'msgid ""\nmsgstr "Language: en\\n"\n\n'
    found = rows_of(po, (head + "".join(body)).encode())
    assert len(found) == len(pairs) * (2 if plural else 1)
    for row, (message, translation) in zip(found[:: 2 if plural else 1], pairs, strict=True):
        event(str(row.fault))
        if mark in {"#, fuzzy\n", "#~ "}:
            assert row.fault == {"#": "fuzzy", "~": "obsolete"}[mark[1].replace(",", "#")]
        elif translation:
            assert row == Row(row.line, f"m{message}", translation, None)
        else:
            assert row.fault == "untranslated"


ids = st.integers(0, 5)
segments = st.lists(st.tuples(ids, ids, texts), max_size=8)


@settings(deadline=None)
@given(segments, segments)
def test_sgm(sources: list[tuple[int, int, str]], references: list[tuple[int, int, str]]) -> None:
    def text(segments: list[tuple[int, int, str]]) -> bytes:
        rows = [(9, 9, "x"), *segments]
        return "".join(
            f'<doc docid="{doc}">\n<seg id="{seg}">{words.replace("</seg>", "")}</seg>\n</doc>\n'
            for doc, seg, words in rows
        ).encode()

    found = rows_of(sgm, text(sources), text(references))
    both = [{(doc, seg) for doc, seg, _ in one} for one in (sources, references)]
    paired = len(both[0] & both[1])
    assert len(found) == 1 + len(sources) + len(references) - paired
    assert sum(row.fault is None for row in found) == 1 + paired
    assert [row.line for row in found][: 1 + len(sources)] == sorted(
        row.line for row in found[: 1 + len(sources)]
    )


READERS = [tmx, jsonl, parquet, po, sgm]
TABLE = io.BytesIO()
writer.write_table(pa.table({"zh": 3 * [GOOD[0]], "en": 3 * [GOOD[1]]}), TABLE)
SEEDS = {
    "tmx": '<?xml version="1.0"?><!DOCTYPE tmx><tmx><body><tu><tuv xml:lang="zh"><seg>好'
    '</seg></tuv><tuv lang="en"><seg>a<ph>b</ph>&lt;</seg></tuv></tu></body></tmx>'.encode(),
    "jsonl": 3 * '{"translation": {"zh": "好", "en": "a\\n\\u0062"}}\n'.encode(),
    "parquet": TABLE.getvalue(),
    "po": 'msgid ""\nmsgstr "Language: zh\\n"\n\n#, fuzzy\nmsgid "a"\nmsgid_plural "b"\n'
    'msgstr[0] "好\\n"\n"c"\n\n#~ msgid "d"\n#~ msgstr "e"\n'.encode(),
    "sgm": '<doc docid="a"><seg id="1">好</seg>\n<seg id="2">a &amp; b</seg>\n</doc>'.encode(),
}
wild = st.one_of(
    st.binary(max_size=4), st.sampled_from([piece.encode() for piece in PIECES if piece])
)
edits = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.1), wild), max_size=3)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__.split(".")[-1])
@settings(deadline=None, max_examples=200)
@given(st.integers(0, 4), st.binary(max_size=200), edits)
def test_any_bytes_give_rows_or_a_fault_in_one_line(
    reader: ModuleType, kind: int, junk: bytes, edits: list[tuple[float, float, bytes]]
) -> None:
    seed = content = SEEDS[reader.__name__.split(".")[-1]]
    for at, size, piece in edits:
        start = int(at * len(content))
        content = content[:start] + piece + content[start + int(size * len(content)) :]
    content = content if kind else junk
    message = None
    try:
        assert rows_of(reader, *([content, seed] if reader is sgm else [content]))
    except DataError as error:
        message = str(error)
    event("DataError" if message else "rows")
    assert message is None or ("\n" not in message and message.encode())
