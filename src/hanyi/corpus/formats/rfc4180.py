"""CSV as in RFC 4180: quoted fields may hold delimiters, doubled quotes and line ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import pyarrow as pa

from hanyi.corpus.formats import tabular
from hanyi.corpus.formats.arrays import Layout, rows_of
from hanyi.corpus.formats.inputs import Input
from hanyi.corpus.formats.tabular import Record
from hanyi.corpus.formats.text import MARK, blocks, decoded_lines
from hanyi.corpus.tables import Row, row_blocks

REASONS = ("encoding", "blank", "quotes", "columns")
"""Faults of a row, in the order in which they are looked for."""

LINES_MAX = 100
"""Lines of one row, at most: a quote that is still open then was never meant to open a field."""

_INSIDE = re.compile(r'[^"]*(?:""[^"]*)*')


def inspect(file: Input) -> Input:
    """Decide encoding, delimiter and columns by the first rows; raise `DataError` at odd ones."""
    return tabular.inspect(file, _records, ",")


def read(file: Input) -> Iterator[pa.RecordBatch]:
    """Give every row after the header, the faulty ones with their reason.

    A row with a faulty quote loses its first line only: reading goes on at the next one.
    """
    layout, header = tabular.layout(file), file.reading.header
    splitter = _Splitter(layout.delimiter)
    for block in chain(blocks(file.path, file.reading.encoding, file.name), [b""]):
        if b'"' in block or splitter.held or not block:
            yield from row_blocks(_rows(splitter.split(block), layout, header=header))
        else:  # a block without quotes is as simple as TSV
            for batch in rows_of(block, splitter.line, layout):
                rows = batch.slice(header and splitter.line == 1)
                splitter.line += batch.num_rows
                if rows.num_rows:
                    yield rows


def _records(file: Input) -> Iterator[Record]:
    splitter = _Splitter(file.reading.delimiter)
    encoding = file.reading.encoding
    for block in chain(blocks(file.path, encoding, file.name, tabular.SAMPLE_BYTES), [b""]):
        yield from splitter.split(block)


def _rows(records: Iterable[Record], layout: Layout, *, header: bool) -> Iterator[Row]:
    for line, fields, fault in records:
        if header and line == 1:
            continue
        if fault is None and len(fields) == layout.columns:
            yield Row(line, fields[layout.src], fields[layout.tgt], None)
        else:
            text = layout.delimiter.join(fields).replace(MARK, "\ufffd")
            yield Row(line, text, "", fault or "columns")


class _Splitter:
    """Turns blocks of lines into records; `line` is the number of the next line."""

    def __init__(self, delimiter: str) -> None:
        self.line = 1
        self.held: list[str] = []
        """Lines of a row that goes on in the next block."""
        self._delimiter = delimiter

    def split(self, block: bytes) -> Iterator[Record]:
        """Yield the records that end in this block; an empty one says that no more will come."""
        lines, at = [*self.held, *decoded_lines(block)], 0
        while at < len(lines) and (found := self._record(lines, at, final=not block)):
            size, fields, fault = found
            text = lines[at] if size == 1 else "\n".join(lines[at : at + size])
            if MARK in text:
                fields, fault = [text], "encoding"
            yield Record(self.line, fields, fault)
            at, self.line = at + size, self.line + size
        self.held = lines[at:]

    def _record(
        self, lines: Sequence[str], at: int, *, final: bool
    ) -> tuple[int, list[str], str | None] | None:
        """Read one record: its number of lines, fields and fault; None if it needs more lines."""
        line = lines[at]
        if not line or line.isspace():
            return 1, [line], "blank"
        if '"' not in line:
            return 1, line.split(self._delimiter, tabular.COLUMNS_MAX), None
        size, start, fields = 1, 0, list[str]()
        while True:
            if line.startswith('"', start):
                start += 1
                end = _end_of_quoted(line, start)
                field = [line[start:end]]
                while end == len(line):
                    if size == LINES_MAX or (final and at + size == len(lines)):
                        return 1, [lines[at]], "quotes"
                    if at + size == len(lines):
                        return None
                    line, size = lines[at + size], size + 1
                    end = _end_of_quoted(line, 0)
                    field.append(line[:end])
                fields.append("\n".join(field).replace('""', '"'))
                start = end + 1
            else:
                end = line.find(self._delimiter, start)
                end = len(line) if end < 0 else end
                fields.append(line[start:end])
                start = end
            if start == len(line):
                return size, fields, None
            if line[start] != self._delimiter:
                return 1, [lines[at]], "quotes"
            start += 1


def _end_of_quoted(line: str, start: int) -> int:
    """Give where the closing quote is, or the line's end: a doubled one closes nothing."""
    found = _INSIDE.match(line, start)
    assert found
    return found.end()
