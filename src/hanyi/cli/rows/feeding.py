"""Where rows come from: arguments, files, standard input, or a person at a terminal."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import cast

import typer

from hanyi.cli.prompt import typed_lines
from hanyi.cli.rows.columns import Wanted
from hanyi.cli.rows.formats import FORMATS, Format, Plain, Row, choose_format
from hanyi.cli.rows.reading import PIECE, Line, read_lines
from hanyi.errors import DataError, HanyiError, ParamsError

STANDARD_INPUT = Path("-")


@dataclass(frozen=True, slots=True)
class Source:
    """A file of lines, or standard input, and how its lines hold their texts."""

    file: Path
    format: str

    @property
    def name(self) -> str:
        """Give what errors call it."""
        return "standard input" if self.file == STANDARD_INPUT else str(self.file)

    def check(self) -> None:
        """Raise `DataError` unless it can be opened; a pipe is left alone until it is read."""
        if self.file != STANDARD_INPUT and not self.file.is_fifo():
            with self.open():
                pass

    def open(self) -> AbstractContextManager[BufferedIOBase]:
        """Open it; raise `DataError` when it cannot be."""
        if self.file == STANDARD_INPUT:
            return nullcontext(cast("BufferedIOBase", sys.stdin.buffer))
        try:
            return self.file.open("rb")
        except OSError as error:
            found = (error.strerror or str(error)).lower()
            raise DataError(self.file, found, "a file of texts", "name another") from None


class Feed:
    """All rows, one source after another."""

    def __init__(
        self,
        texts: Sequence[str],
        inputs: Sequence[Path],
        kind: str,
        column: str | None,
        wanted: Wanted,
        *,
        header: bool,
    ) -> None:
        """Check what goes together, and that the files can be read."""
        if texts and inputs:
            raise ParamsError("--input", "texts beside it", "one of both", "leave one of them off")
        self.texts = texts
        self.wanted = wanted
        self.column, self.header = column, header
        self.typed = not texts and not inputs and sys.stdin.isatty()
        files = [] if texts or self.typed else inputs or [STANDARD_INPUT]
        self.sources = [Source(file, choose_format(kind, file)) for file in files]
        formats = {source.format for source in self.sources} or {"plain"}
        if not self.sources and choose_format(kind, STANDARD_INPUT) != "plain":
            raise ParamsError("--format", f"{kind}, but no file", "lines", "give a file by --input")
        for name, given, knowing in (
            ("--column", column is not None, {"tsv", "jsonl"}),
            ("--header", header, {"tsv"}),
        ):
            if given and (others := sorted(formats - knowing)):
                found, expected = (
                    f"{others[0]} lines, which have none",
                    " or ".join(sorted(knowing)),
                )
                raise ParamsError(name, found, expected, "set --format or leave it off")
        for source in self.sources:
            source.check()

    @property
    def plain(self) -> bool:
        """Tell whether each line is a text and nothing else."""
        return all(source.format == "plain" for source in self.sources)

    def rows(self, prompt: str) -> Iterator[Row | None]:
        """Give each row, and None where the next one keeps us waiting."""
        if self.typed:
            yield from self._typed(prompt)
        for number, text in enumerate(self.texts, start=1):
            yield self._format("plain").row(Line(text, f"argument {number}"))
        for source in self.sources:
            lines = self._format(source.format)
            with source.open() as file:
                for line in read_lines(file, source.name):
                    yield None if line is None else lines.row(line)

    def total(self) -> int | None:
        """Give the number of all lines, None where it is not known before they are read."""
        counts = [_count_lines(source) for source in self.sources]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def _format(self, name: str) -> Format:
        return FORMATS[name](self.wanted, self.column, header=self.header)

    def _typed(self, prompt: str) -> Iterator[Row | None]:
        plain = Plain(self.wanted, None, header=False)
        for line in typed_lines(prompt):
            try:
                yield plain.row(line)
            except HanyiError as error:
                typer.echo(f"hanyi: error: {error}", err=True)
            yield None  # a person waits for the answer


def _count_lines(source: Source) -> int | None:
    """Count the lines of a file from where it stands, and leave it there."""
    if source.file.is_fifo():  # which can be opened once only
        return None
    with source.open() as file:
        try:
            number = file.fileno()
            if not stat.S_ISREG(os.fstat(number).st_mode):
                return None
            place = os.lseek(number, 0, os.SEEK_CUR)
        except (OSError, ValueError):  # no file of the system
            return None
        lines, last = 0, b"\n"
        while piece := os.pread(number, PIECE, place):
            lines += piece.count(b"\n")
            place, last = place + len(piece), piece[-1:]
        return lines + (last != b"\n")
