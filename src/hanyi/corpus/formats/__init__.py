"""Formats of corpora: one reader in each module, one line here for each format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import PurePath
from typing import Protocol

import pyarrow as pa

from hanyi.corpus.formats import jsonl, moses, parquet, po, rfc4180, sgm, tmx, tsv
from hanyi.corpus.formats.arrays import rows_in
from hanyi.corpus.formats.encodings import guess_encoding
from hanyi.corpus.formats.inputs import AUTO, Input
from hanyi.corpus.formats.packing import SUFFIXES, open_bytes
from hanyi.corpus.tables import Row
from hanyi.errors import DataError


class Format(Protocol):
    """A module that reads one kind of file."""

    @property
    def REASONS(self) -> tuple[str, ...]:  # noqa: N802 (a constant of the module)
        """Faults that a row may have."""

    def inspect(self, file: Input) -> Input:
        """Decide what is `auto` and check the first rows; raise `DataError` when they are odd."""

    def read(self, file: Input) -> Iterator[pa.RecordBatch]:
        """Give every row in order as blocks of schema `tables.ROWS`, faulty ones included."""


FORMATS: dict[str, Format] = {
    "tsv": tsv,
    "csv": rfc4180,
    "moses": moses,
    "tmx": tmx,
    "jsonl": jsonl,
    "parquet": parquet,
    "po": po,
    "sgm": sgm,
}
REASONS = tuple(dict.fromkeys(reason for kind in FORMATS.values() for reason in kind.REASONS))
"""All faults that readers give, each once."""

PAIRED = ("moses", "sgm")
"""Formats of two files."""

_BY_SUFFIX = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".tmx": "tmx",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".po": "po",
    ".pot": "po",
    ".sgm": "sgm",
    ".sgml": "sgm",
}
_BY_CONTENT = (
    ("parquet", re.compile(r"PAR1")),
    ("sgm", re.compile(r"(?s).*<(?:srcset|refset|tstset|mteval)\b", re.IGNORECASE)),
    ("tmx", re.compile(r"\s*(?:<\?xml|<!DOCTYPE tmx|<tmx)")),
    ("jsonl", re.compile(r"\s*\{")),
    ("po", re.compile(r'(?:#.*\n|\s*\n)*msg(?:id|ctxt) "')),
)
_HEAD_BYTES = 1 << 12


def decide(file: Input) -> Input:
    """Decide all that is `auto`: the format by name or content, the rest as that format does.

    Raises `DataError` when the first rows make no sense as that format.
    """
    chosen = file.reading.format
    if chosen == AUTO:
        chosen = _format_of(file)
        file = replace(file, reading=replace(file.reading, format=chosen))
    if len(file.paths) > 1 and chosen not in PAIRED:
        raise DataError(
            file.name, f"two files as {chosen}", f"two as {' or '.join(PAIRED)}, one otherwise",
            f"set {file.section}.format, or give each an entry of its own",
        )  # fmt: skip
    return FORMATS[chosen].inspect(file)


def peek(file: Input, rows: int) -> list[Row]:
    """Give the first rows of a file that `decide` has decided, as they are understood."""
    return list(islice(_rows(file), rows))


def _rows(file: Input) -> Iterator[Row]:
    for batch in FORMATS[file.reading.format].read(file):
        yield from rows_in(batch)


def _format_of(file: Input) -> str:
    kinds = [
        _BY_SUFFIX.get(_suffix(name)) or _by_content(file, number)
        for number, name in enumerate(file.names)
    ]
    if len(kinds) == 1:
        return kinds[0]
    return "sgm" if set(kinds) == {"sgm"} else "moses"


def _suffix(name: str) -> str:
    path = PurePath(name.lower())
    return PurePath(path.stem).suffix if path.suffix in SUFFIXES else path.suffix


def _by_content(file: Input, number: int) -> str:
    with open_bytes(file.paths[number], file.names[number]) as opened:
        head = opened.read(_HEAD_BYTES)
    text = head.decode(guess_encoding(head) or "utf-8", "replace").removeprefix("\ufeff")
    return next((kind for kind, start in _BY_CONTENT if start.match(text)), "tsv")
