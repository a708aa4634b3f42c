"""A look at how the first rows of each file are understood, before anything is fetched."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from hanyi.corpus.formats import decide, peek
from hanyi.corpus.formats.encodings import guess_encoding
from hanyi.corpus.formats.inputs import AUTO, Input
from hanyi.corpus.formats.packing import open_bytes
from hanyi.corpus.formats.text import ENCODINGS
from hanyi.corpus.sources.config import FetchConfig
from hanyi.corpus.sources.pieces import Entry, Piece, describe, entries, find_pieces
from hanyi.corpus.tables import Row
from hanyi.errors import HanyiError
from hanyi.languages import Languages

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
    if entry.corpus.names == ("starter:everyday",):
        yield Look(title, "made when it is fetched, in some seconds", [], [], None)
        return
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
        _head(path, name, file.reading.encoding)
        for path, name in zip(file.paths, file.names, strict=True)
    ]
    reading, heads = "as it stands", list[str]()
    found: Iterable[tuple[int, Sequence[str]]]
    if len(sides) > 1:
        heads += file.names
        found = enumerate(zip_longest(*sides, fillvalue=""), start=1)
    elif delimiter := _delimiter(file, "\n".join(sides[0][:rows])):
        reading = f"as it stands, parted at {delimiter!r}"
        found = _cells(file, sides[0], delimiter)
    else:
        heads += ["text"]
        found = enumerate(([line] for line in sides[0]), start=1)
    cells = list(islice(found, rows))
    width = min(max((len(some) for _, some in cells), default=0), COLUMNS_MAX)
    heads = heads or [f"column {number}" for number in range(width)]
    table = [
        [str(line), *some[: len(heads)], *[""] * (len(heads) - len(some))] for line, some in cells
    ]
    return Look(title, reading, ["line", *heads], table, error)


def _cells(file: Input, lines: list[str], delimiter: str) -> Iterator[tuple[int, Sequence[str]]]:
    if file.reading.format == "csv" or ".csv" in file.name.lower():
        reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
        line = 1
        with suppress(csv.Error):  # the file's own error is told already
            for record in reader:
                yield line, record
                line = reader.line_num + 1
    else:
        yield from enumerate((line.split(delimiter) for line in lines), start=1)


def _head(path: Path, name: str, encoding: str) -> list[str]:
    with open_bytes(path, name) as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(_PARQUET):
        return []
    if encoding == AUTO or encoding not in ENCODINGS:
        encoding = guess_encoding(head) or "utf-8"
    lines = head.decode(encoding, "backslashreplace").removeprefix("\ufeff").split("\n")
    return [line.removesuffix("\r") for line in lines]


def _delimiter(file: Input, text: str) -> str | None:
    if file.reading.delimiter != AUTO:
        return file.reading.delimiter
    if file.reading.format not in {AUTO, "tsv", "csv"}:
        return None
    return next((one for one in "\t,;|" if one in text), None)
