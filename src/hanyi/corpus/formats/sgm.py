"""SGM as WMT published its test sets: a file of sources, and a file of references.

It is no XML: `&` and `<` stand in it as they are, beside `&amp;`. Entities are left alone, as
sacrebleu does, so that a score here is a score on the same text as everybody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

from hanyi.corpus.formats.encodings import decide_encoding
from hanyi.corpus.formats.inputs import Input
from hanyi.corpus.formats.text import MARK, lines
from hanyi.corpus.tables import Row, row_blocks
from hanyi.errors import DataError

REASONS = ("encoding", "unpaired", "unclosed")
"""Faults of a segment; `unpaired`: the other file has none of its document and id, or it is not the
first of them here; `markup`: it does not end before the next begins."""

_TAG = re.compile(r"<(/?)(srcset|refset|doc|seg)\b([^>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")


class Segment(NamedTuple):
    """A `<seg>`: the line of its tag, (docid, id), its text, and whether it ends."""

    line: int
    key: tuple[str, str]
    text: str
    ends: bool


def inspect(file: Input) -> Input:
    """Find the encoding; check that there are two files, in order, with segments in common.

    Raises `DataError` that says which of it is not so.
    """
    if len(file.paths) != 2:
        raise DataError(
            file.name, "one file", "two: of sources, and of references",
            "give source as a list of both",
        )  # fmt: skip
    file = decide_encoding(file)
    _check_order(file)
    rows = [row.fault for row in _rows(file)]
    if None not in rows:
        found = f"{len(rows)} segments, none that both files have whole"
        raise DataError(
            file.name, found if rows else "no <seg>", "segments of the same docid and id",
            f"give files of one test set; or set {file.section}.encoding, now"
            f" {file.reading.encoding}",
        )  # fmt: skip
    return file


def read(file: Input) -> Iterator[pa.RecordBatch]:
    """Give a row for each source segment, in order, then one for each reference that is left over.

    Text is stripped, and white space in it becomes one space. `line` is that of the source's tag,
    or of the left-over reference's. The references are in memory: a test set is small.
    """
    yield from row_blocks(_rows(file))


def _rows(file: Input) -> Iterator[Row]:
    references: dict[tuple[str, str], Segment] = {}
    left_over = [
        segment
        for segment in _segments(_lines(file, 1))
        if references.setdefault(segment.key, segment) is not segment
    ]
    for segment in _segments(_lines(file, 0)):
        reference = references.pop(segment.key, None)
        yield _row(segment, reference)
    left_over += references.values()
    for segment in sorted(left_over):
        yield _row(segment, None)


def _row(segment: Segment, partner: Segment | None) -> Row:
    text = f"{segment.text}\t{partner.text}" if partner else segment.text
    if MARK in text:
        fault = "encoding"
    elif not segment.ends or (partner and not partner.ends):
        fault = "unclosed"
    elif partner:
        return Row(segment.line, segment.text, partner.text, None)
    else:
        fault = "unpaired"
    return Row(segment.line, text.replace(MARK, "\ufffd"), "", fault)


def _segments(all_lines: Iterable[str]) -> Iterator[Segment]:
    """Find the segments; only tags that mark documents and segments are tags."""
    document, begun, key, text = "", 0, ("", ""), []
    for number, line in enumerate(all_lines, start=1):
        start = 0
        for tag in _TAG.finditer(line):
            closing, name = bool(tag[1]), tag[2].lower()
            if begun:
                text.append(line[start : tag.start()])
                yield Segment(begun, key, _clean(text), ends=closing and name == "seg")
            start, begun = tag.end(), 0
            if name == "seg" and not closing:
                begun, text = number, []
                key = (document, _attributes(tag[3]).get("id", ""))
            elif name == "doc":
                document = "" if closing else _attributes(tag[3]).get("docid", "")
        if begun:
            text.append(line[start:] + "\n")
    if begun:
        yield Segment(begun, key, _clean(text), ends=False)


def _clean(text: list[str]) -> str:
    return " ".join("".join(text).split())


def _attributes(text: str) -> dict[str, str]:
    return {
        name.lower(): quoted or single or bare
        for name, quoted, single, bare in _ATTRIBUTE.findall(text)
    }


def _check_order(file: Input) -> None:
    for number, wrong in enumerate(("refset", "srcset")):
        tags = (tag[2].lower() for line in _lines(file, number) for tag in _TAG.finditer(line))
        if next(tags, None) == wrong:
            raise DataError(
                file.names[number], f"a <{wrong}>", "sources first, then references",
                "turn the two names of source round",
            )  # fmt: skip


def _lines(file: Input, number: int) -> Iterator[str]:
    return lines(file.paths[number], file.reading.encoding, file.names[number])
