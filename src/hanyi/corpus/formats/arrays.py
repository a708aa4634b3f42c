"""Blocks of lines as Arrow arrays, cut by numpy: no row becomes a Python object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hanyi.corpus.formats.text import decodes
from hanyi.corpus.tables import ROW_GROUP, ROWS, Row

NEWLINE, RETURN = b"\n\r"
_SPACES = np.isin(np.arange(256), list(b"\t\n\v\f\r\x1c\x1d\x1e\x1f \xc2\xe1\xe2\xe3"))
"""First bytes that a line of nothing but white space can have."""


class Layout(NamedTuple):
    """What a line holds: `columns` fields between delimiters, two of which are wanted.

    Without a delimiter a line is one field.
    """

    delimiter: str
    columns: int
    src: int
    tgt: int


LINE = Layout("", 1, 0, 0)


class _Cut(NamedTuple):
    """Where the fields of a block are."""

    starts: np.ndarray  # [fields] bytes
    ends: np.ndarray  # [fields] bytes, the line's end (newline, return) left out
    first: np.ndarray  # [lines] number of the first field
    counts: np.ndarray  # [lines] fields


def rows_of(block: bytes, line: int, layout: Layout) -> Iterator[pa.RecordBatch]:
    """Yield the lines of one of `text.blocks` as rows of schema `ROWS`, the first at line `line`.

    A line with undecodable bytes, of white space alone, or with another number of columns has its
    fault, and its text as `src`, with U+FFFD for each undecodable byte.
    """
    if not block.endswith(b"\n"):
        block += b"\n"
    data = np.frombuffer(block, np.uint8)
    cut = _cut(block, data, layout.delimiter)
    odd = _odd(block, data, cut, layout.columns)
    whole = np.ones(len(cut.first), bool)
    whole[list(odd)] = False
    fields = _strings(block, cut)
    src, tgt = (
        _filled(fields.take(2 * np.where(whole, cut.first + column, 0)), whole, text)
        for column, text in (
            (layout.src, [text for text, _ in odd.values()]),
            (layout.tgt, [""] * len(odd)),
        )
    )
    faults = _filled(pa.nulls(len(whole), pa.string()), whole, [fault for _, fault in odd.values()])
    numbers = pa.array(np.arange(line, line + len(whole)))
    batch = pa.RecordBatch.from_arrays([numbers, src, tgt, faults], schema=ROWS)
    for start in range(0, len(whole), ROW_GROUP):
        yield batch.slice(start, ROW_GROUP)


def rows_in(batch: pa.RecordBatch, some: int = 100) -> Iterator[Row]:
    """Yield the rows of a block as tuples; `some` are unpacked at a time."""
    for start in range(0, batch.num_rows, some):
        columns = batch.slice(start, some).to_pydict().values()
        yield from map(Row._make, zip(*columns, strict=True))


def _cut(block: bytes, data: np.ndarray, delimiter: str) -> _Cut:
    first, *more = delimiter.encode() or b"\n"
    ends = np.flatnonzero((data == NEWLINE) | (data == first))
    if more:  # beyond ASCII; no valid character holds the bytes of another
        width = 1 + len(more)
        wanted = [block[at : at + width] == delimiter.encode() for at in ends.tolist()]
        ends = ends[(data[ends] == NEWLINE) | np.array(wanted)]
    newline = data[ends] == NEWLINE
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = np.where(newline, ends + 1, ends + 1 + len(more))[:-1]
    last = np.flatnonzero(newline)
    counts = np.diff(last, prepend=-1)
    returns = newline & (ends > starts) & (data[ends - 1] == RETURN)
    return _Cut(starts, ends - returns, last - counts + 1, counts)


def _strings(block: bytes, cut: _Cut) -> pa.StringArray:
    """Give the fields and what parts them in turn: field i is string 2 * i."""
    offsets = np.empty(2 * len(cut.starts) + 1, np.int32)
    offsets[:-1:2], offsets[1::2], offsets[-1] = cut.starts, cut.ends, len(block)
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(block))


def _filled(strings: pa.StringArray, whole: np.ndarray, others: list[str]) -> pa.StringArray:
    if not others:
        return strings
    return pc.replace_with_mask(strings, pa.array(~whole), pa.array(others, pa.string()))


def _odd(block: bytes, data: np.ndarray, cut: _Cut, columns: int) -> dict[int, tuple[str, str]]:
    """Give the text and the fault of each line that is no row, by its number in the block."""
    line_starts, line_ends = cut.starts[cut.first], cut.ends[cut.first + cut.counts - 1]
    faults = dict.fromkeys(_broken(block), "encoding")
    for number in np.flatnonzero(_SPACES[data[line_starts]]).tolist():
        text = block[line_starts[number] : line_ends[number]]
        if not text or text.decode("utf-8", "replace").isspace():
            faults.setdefault(number, "blank")
    for number in np.flatnonzero(cut.counts != columns).tolist():
        faults.setdefault(number, "columns")
    return {
        number: (
            block[line_starts[number] : line_ends[number]].decode("utf-8", "replace"),
            faults[number],
        )
        for number in sorted(faults)
    }


def _broken(block: bytes) -> list[int]:
    """Give the lines that no UTF-8 decoder takes."""
    offsets = pa.py_buffer(np.array([0, len(block)], np.int32))
    try:
        pa.StringArray.from_buffers(1, offsets, pa.py_buffer(block)).validate(full=True)
    except pa.ArrowInvalid:
        pass
    else:
        return []
    lines = block.split(b"\n")
    return [number for number, line in enumerate(lines) if not decodes(line)]
