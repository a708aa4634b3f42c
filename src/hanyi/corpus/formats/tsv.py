"""Tab-separated text: a line is a row, and a quote is a character like any other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hanyi.corpus.formats.tabular import Record
from hanyi.corpus.formats.text import MARK


def split(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    """Split every line at the delimiter."""
    for number, line in enumerate(lines, start=1):
        if MARK in line:
            yield Record(number, (line,), "encoding")
        elif not line or line.isspace():
            yield Record(number, (line,), "blank")
        else:
            yield Record(number, line.split(delimiter), None)
