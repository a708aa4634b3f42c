"""A look at how the first rows of each file are understood, before anything is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from hanyi.corpus.formats import decide, peek
from hanyi.corpus.formats.encodings import guess_encoding
from hanyi.corpus.formats.inputs import AUTO, Input
from hanyi.corpus.formats.packing import open_bytes
from hanyi.corpus.languages import Languages
from hanyi.corpus.sources.config import FetchConfig
from hanyi.corpus.sources.pieces import Entry, Piece, describe, entries, find_pieces
from hanyi.corpus.tables import Row
from hanyi.errors import HanyiError

HEAD_BYTES = 1 << 16
COLUMNS_MAX = 12
_PARQUET = b"PAR1"


class Look(NamedTuple):
    """The first rows of one file in columns with heads, and what is wrong with it, if anything.

    The columns are line, source and target, or, where the file could not be understood, the line
    and the file's own columns by their numbers.
    """

    title: str
    reading: str
    heads: list[str]
    rows: list[list[str]]
    error: str | None


def look_at_corpora(fetch: FetchConfig, languages: Languages, rows: int) -> Iterator[Look]:
    """Give a look at each file in order; a faulty one does not hide those behind it."""
    seen: dict[Path, str] = {}
    for entry in entries(fetch, languages):
        yield from _look_at_entry(entry, seen, rows)


def _look_at_entry(entry: Entry, seen: dict[Path, str], rows: int) -> Iterator[Look]:
    title = f"{entry.corpus.name}: {' + '.join(entry.corpus.names)}"
    try:
        for piece in find_pieces(entry, seen, {}):
            title = f"{piece.corpus}.{piece.role}: {piece.name}"
            yield _look(title, piece, entry.languages, rows)
    except HanyiError as error:
        yield Look(title, "not read", [], [], str(error))


def _look(title: str, piece: Piece, languages: Languages, rows: int) -> Look:
    heads = ["line", f"source ({languages.src})", f"target ({languages.tgt})"]
    if piece.file is None:
        return Look(title, "made here", heads, _pairs(piece.rows[:rows]), None)
    try:
        file = decide(piece.file)
        return Look(title, describe(file), heads, _pairs(peek(file, rows)), None)
    except HanyiError as error:
        # That is when a look is needed most.
        try:
            return _look_as_it_stands(title, piece.file, rows, str(error))
        except HanyiError:
            return Look(title, "not read", [], [], str(error))


def _pairs(rows: list[Row] | tuple[Row, ...]) -> list[list[str]]:
    return [
        [str(row.line), row.src, f"[no pair: {row.fault}]" if row.fault else row.tgt]
        for row in rows
    ]


def _look_as_it_stands(title: str, file: Input, rows: int, error: str) -> Look:
    """Show the first lines of a file in its own columns, of a pair of files side by side."""
    sides = [
        _lines(path, name, file.reading.encoding)[:rows]
        for path, name in zip(file.paths, file.names, strict=True)
    ]
    delimiter = None
    if len(sides) == 1:
        delimiter = _delimiter(file, sides[0])
        cells = [line.split(delimiter) if delimiter else [line] for line in sides[0]]
        width = min(max(map(len, cells), default=1), COLUMNS_MAX)
        heads = [f"column {number}" for number in range(width)]
    else:
        cells, heads = [list(lines) for lines in zip_longest(*sides, fillvalue="")], [*file.names]
    table = [
        [str(line), *islice(some, len(heads)), *[""] * (len(heads) - len(some))]
        for line, some in enumerate(cells, start=1)
    ]
    parted = f", parted at {delimiter!r}" if delimiter else ""
    return Look(title, f"as it stands{parted}", ["line", *heads], table, error)


def _lines(path: Path, name: str, encoding: str) -> list[str]:
    with open_bytes(path, name) as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(_PARQUET):
        return []
    if encoding == AUTO:
        encoding = guess_encoding(head) or "utf-8"
    return head.decode(encoding, "backslashreplace").removeprefix("\ufeff").split("\n")


def _delimiter(file: Input, lines: list[str]) -> str | None:
    if file.reading.delimiter != AUTO:
        return file.reading.delimiter
    if file.reading.format not in {AUTO, "tsv", "csv"}:
        return None
    joined = "\n".join(lines)
    return next((one for one in "\t,;|" if one in joined), None)
