"""Lines of files and pipes, handed on as they come."""

from __future__ import annotations

import select
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from typing import TypeVar

from hanyi.errors import DataError, HanyiError

PIECE = 1 << 16  # bytes that are read at once
PAUSE = 0.05  # seconds after which those who wait for more lines get what is there

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end."""

    text: str
    where: str  # as errors name it


def read_lines(file: BufferedIOBase, name: str) -> Iterator[Line | None]:
    """Give each line of a file, and None where the next one keeps us waiting.

    Only a line feed ends a line, with or without a carriage return before it; a byte-order mark at
    the beginning is left out. Raises `DataError`, which names the line, for what is no UTF-8.
    """
    rest, number = b"", 0
    while True:
        if not _is_ready(file):
            yield None
        piece = file.read1(PIECE)
        if not piece:
            break
        *whole, rest = (rest + piece).split(b"\n")
        for number, line in enumerate(whole, start=number + 1):  # noqa: B020
            yield _decoded(line, name, number)
    if rest:
        yield _decoded(rest, name, number + 1)


def in_batches(rows: Iterable[Row | None], most: int) -> Iterator[list[Row]]:
    """Gather at most so many rows, fewer before a pause (None) or a fault."""
    batch: list[Row] = []
    try:
        for row in rows:
            if row is not None:
                batch.append(row)
            if batch and (row is None or len(batch) == most):
                yield batch
                batch = []
    except HanyiError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _is_ready(file: BufferedIOBase) -> bool:
    try:
        return bool(select.select([file], [], [], PAUSE)[0])
    except (OSError, ValueError):  # no file of the system
        return True


def _decoded(line: bytes, name: str, number: int) -> Line:
    where = f"{name}:{number}"
    try:
        text = line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte {line[error.start]:#04x} at {error.start + 1}, which is no UTF-8"
        remedy = "convert it, for example `iconv -f GB18030 -t UTF-8`"
        raise DataError(where, found, "text in UTF-8", remedy) from None
    return Line(text.removeprefix("\ufeff") if number == 1 else text, where)
