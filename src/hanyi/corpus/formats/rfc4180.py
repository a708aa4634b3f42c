"""CSV as in RFC 4180: quoted fields may hold delimiters, doubled quotes and line ends."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

from hanyi.corpus.formats.tabular import Record
from hanyi.corpus.formats.text import MARK

LINES_MAX = 100
"""Lines of one row, at most: a quote that is still open then was never meant to open a field."""

_QUOTED = re.compile(r'"([^"]*(?:""[^"]*)*)"')
_OPEN = re.compile(r'"[^"]*(?:""[^"]*)*\Z')


def split(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    """Split rows into fields.

    A row with a faulty quote loses its first line only: reading goes on at the next one.
    """
    stream = _Lines(lines)
    while (line := stream.peek(0)) is not None:
        size, fields, fault = 1, [line], None
        if not line or line.isspace():
            fault = "blank"
        elif '"' not in line:
            fields = line.split(delimiter)
        else:
            size, fields, fault = _quoted(stream, delimiter)
        text = stream.take(size)
        if MARK in text:
            fields, fault = [text], "encoding"
        yield Record(stream.number - size + 1, fields, fault)


def _quoted(stream: _Lines, delimiter: str) -> tuple[int, list[str], str | None]:
    """Read one row that has quotes: its number of lines, its fields, and its fault."""
    first = text = stream.peek(0) or ""
    size, start, fields = 1, 0, []
    while True:
        if text.startswith('"', start):
            while _OPEN.match(text, start):
                more = stream.peek(size) if size < LINES_MAX else None
                if more is None:
                    return 1, [first], "quotes"
                text, size = f"{text}\n{more}", size + 1
            found = _QUOTED.match(text, start)
            assert found
            fields.append(found[1].replace('""', '"'))
            start = found.end()
        else:
            end = text.find(delimiter, start)
            end = len(text) if end < 0 else end
            fields.append(text[start:end])
            start = end
        if start == len(text):
            return size, fields, None
        if text[start] != delimiter:
            return 1, [first], "quotes"
        start += 1


class _Lines:
    """Lines that can be looked at before they are taken."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.number = 0
        self._lines = iter(lines)
        self._ahead: deque[str] = deque()

    def peek(self, offset: int) -> str | None:
        """Look at the line `offset` lines ahead, or None after the last one."""
        while len(self._ahead) <= offset:
            line = next(self._lines, None)
            if line is None:
                return None
            self._ahead.append(line)
        return self._ahead[offset]

    def take(self, size: int) -> str:
        """Take lines, joined by newlines."""
        self.number += size
        return "\n".join(self._ahead.popleft() for _ in range(size))
