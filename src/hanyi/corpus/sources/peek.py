"""A look at how the first rows of each file are understood, before anything is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from hanyi.corpus.formats import decide, peek
from hanyi.corpus.languages import Languages
from hanyi.corpus.sources.config import FetchConfig
from hanyi.corpus.sources.pieces import Entry, Piece, describe, entries, find_pieces
from hanyi.corpus.tables import Row
from hanyi.errors import HanyiError


class Look(NamedTuple):
    """The first rows of one file as they are understood, and what is wrong with it, if anything."""

    title: str
    reading: str
    rows: list[Row]
    error: str | None


def look_at_corpora(fetch: FetchConfig, languages: Languages, rows: int) -> Iterator[Look]:
    """Give a look at each file in order; a faulty one does not hide those behind it."""
    seen: dict[Path, str] = {}
    for entry in entries(fetch, languages):
        yield from _look_at_entry(entry, seen, rows)


def _look_at_entry(entry: Entry, seen: dict[Path, str], rows: int) -> Iterator[Look]:
    try:
        for piece in find_pieces(entry, seen, {}):
            yield _look(piece, rows)
    except HanyiError as error:
        yield Look(f"{entry.corpus.name}: {' + '.join(entry.corpus.names)}", "", [], str(error))


def _look(piece: Piece, rows: int) -> Look:
    title = f"{piece.corpus}.{piece.role}: {piece.name}"
    if piece.file is None:
        return Look(title, "made here", list(islice(piece.rows, rows)), None)
    file, fault = piece.file, None
    try:
        file = decide(file)
    except HanyiError as error:
        # That is when a look is needed most: the rows as the present settings have them.
        fault = str(error)
    try:
        found = peek(file, rows)
    except HanyiError as error:
        return Look(title, "", [], fault or str(error))
    return Look(title, describe(file), found, fault)
