"""Tab-separated text: a line is a row, and a quote is a character like any other."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from hanyi.corpus.formats import tabular
from hanyi.corpus.formats.arrays import rows_of
from hanyi.corpus.formats.inputs import Input
from hanyi.corpus.formats.tabular import Record
from hanyi.corpus.formats.text import MARK, blocks, decoded_lines

REASONS = ("encoding", "blank", "columns")


def inspect(file: Input) -> Input:
    """Decide encoding, delimiter and columns by the first rows; raise `DataError` at odd ones."""
    return tabular.inspect(file, _records, tabular.TAB)


def read(file: Input) -> Iterator[pa.RecordBatch]:
    """Give every line after the header as a row, the faulty ones with their reason."""
    layout = tabular.layout(file)
    line = 1
    for block in blocks(file.path, file.reading.encoding, file.name):
        for batch in rows_of(block, line, layout):
            rows = batch.slice(file.reading.header and line == 1)
            line += batch.num_rows
            if rows.num_rows:
                yield rows


def _records(file: Input) -> Iterator[Record]:
    number = 0
    for block in blocks(file.path, file.reading.encoding, file.name, tabular.SAMPLE_BYTES):
        for number, line in enumerate(decoded_lines(block), start=number + 1):  # noqa: B020
            if MARK in line:
                yield Record(number, (line,), "encoding")
            elif not line or line.isspace():
                yield Record(number, (line,), "blank")
            else:
                yield Record(number, line.split(file.reading.delimiter, tabular.COLUMNS_MAX), None)
