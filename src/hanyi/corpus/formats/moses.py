"""Moses pairs: two plain files, where line n of one is the translation of line n of the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hanyi.corpus.formats.arrays import LINE, rows_in, rows_of
from hanyi.corpus.formats.encodings import decide_encoding
from hanyi.corpus.formats.inputs import Input
from hanyi.corpus.formats.plausible import check_line_ends, check_sides
from hanyi.corpus.formats.text import blocks
from hanyi.corpus.tables import ROWS, Row
from hanyi.errors import DataError

REASONS = ("encoding", "blank")
SAMPLE_ROWS = 100
SAMPLE_BYTES = 1 << 16
_COLUMNS = "the source-side file, then the target-side file"


def inspect(file: Input) -> Input:
    """Decide the encoding and check the first lines; raise `DataError` when they are odd.

    Moses files have no columns and no header: what `file.reading` says of them is not heeded.
    """
    if len(file.paths) != 2:
        raise DataError(
            file.name, "one file", f"two for moses: {_COLUMNS}",
            "give source as a list of two, or set another format",
        )  # fmt: skip
    file = decide_encoding(file)
    check_line_ends(file)
    rows = [row for row in islice(_sample(file), SAMPLE_ROWS) if row.fault != "blank"]
    if not rows:
        raise DataError(f"{file.name}:1", "no lines but blank ones", "sentences", "give others")
    broken = [row for row in rows if row.fault]
    if 2 * len(broken) >= len(rows):
        raise DataError(
            f"{file.name}:{broken[0].line}",
            f"bytes that are no {file.reading.encoding} in {len(broken)} of {len(rows)} rows",
            f"{file.reading.encoding} text", f"set {file.section}.encoding, or convert the files",
        )  # fmt: skip
    whole = [(row.line, row.src, row.tgt) for row in rows if not row.fault]
    check_sides(file, whole, "files", f"give the other file first: {_COLUMNS}")
    return file


def read(file: Input) -> Iterator[pa.RecordBatch]:
    """Give every pair of lines; raise `DataError` when one file has more lines than the other.

    A pair with undecodable bytes, or of two blank lines, has its fault, and both lines as `src`.
    """
    return _read(file)


def _sample(file: Input) -> Iterator[Row]:
    for batch in _read(file, SAMPLE_BYTES):
        yield from rows_in(batch)


def _read(file: Input, size: int | None = None) -> Iterator[pa.RecordBatch]:
    sides = [
        _lines(path, name, file.reading.encoding, size)
        for path, name in zip(file.paths, file.names, strict=True)
    ]
    src, tgt = (next(side, None) for side in sides)
    line = 0
    while src and tgt:
        rows = min(src.num_rows, tgt.num_rows)
        line += rows
        yield _paired(src.slice(0, rows), tgt.slice(0, rows))
        src, tgt = (
            batch.slice(rows) if batch.num_rows > rows else next(side, None)
            for batch, side in zip((src, tgt), sides, strict=True)
        )
    counts = [line, line]
    for number, (left, side) in enumerate(zip((src, tgt), sides, strict=True)):
        counts[number] += sum(batch.num_rows for batch in chain([left] if left else [], side))
    if counts[0] != counts[1]:
        raise DataError(
            file.name, f"{counts[0]} lines beside {counts[1]}", "as many in one as in the other",
            "find the line that one of them lacks: each pair after it is wrong",
        )  # fmt: skip


def _lines(path: Path, name: str, encoding: str, size: int | None) -> Iterator[pa.RecordBatch]:
    line = 1
    for block in blocks(path, encoding, name, size):
        for batch in rows_of(block, line, LINE):
            line += batch.num_rows
            yield batch


def _paired(src: pa.RecordBatch, tgt: pa.RecordBatch) -> pa.RecordBatch:
    """Join two blocks of lines into rows."""
    lines, first, second = src["line"], src["src"], tgt["src"]
    if src["fault"].null_count == tgt["fault"].null_count == len(lines):
        faults = src["fault"]
    else:
        ours, theirs = (batch["fault"].to_numpy(zero_copy_only=False) for batch in (src, tgt))
        broken = (ours == "encoding") | (theirs == "encoding")
        odd = broken | ((ours == "blank") & (theirs == "blank"))
        both = pc.binary_join_element_wise(first, second, "\t")
        first = pc.if_else(pa.array(odd), both, first)
        second = pc.if_else(pa.array(odd), "", second)
        faults = pa.array(np.where(broken, "encoding", "blank"), pa.string(), mask=~odd)
    return pa.RecordBatch.from_arrays([lines, first, second, faults], schema=ROWS)
