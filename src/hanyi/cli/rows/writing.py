"""Rows are translated and written, in batches or as the tokens come."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from hanyi.artifacts import atomic_file
from hanyi.cli.rows.columns import Wanted
from hanyi.cli.rows.formats import Row
from hanyi.cli.rows.reading import in_batches
from hanyi.errors import ParamsError

if TYPE_CHECKING:
    from hanyi.progress import Advance
    from hanyi.translator import Translator

log = logging.getLogger("hanyi.translate")

ROWS_AT_ONCE = 512
TOLD = 20  # characters of a text that a warning is about
SPACES = re.compile(r"\s+")


@contextmanager
def open_output(path: Path | None) -> Iterator[BinaryIO]:
    """Open standard output, or a file that is published whole in the end."""
    if path is None:
        yield sys.stdout.buffer
    elif path.is_dir():
        raise ParamsError("--output", f"{path}, a folder", "a file to write", "name a file in it")
    elif path.exists() and not path.is_file():  # a pipe or a device
        with path.open("wb") as file:
            yield file
    else:
        with atomic_file(path) as temporary, temporary.open("wb") as file:
            yield file


def write_all(
    translator: Translator,
    rows: Iterable[Row | None],
    wanted: Wanted,
    out: BinaryIO,
    advance: Advance,
) -> None:
    """Translate rows in batches of what is there; each batch is written at once."""
    done = 0
    for batch in in_batches(rows, ROWS_AT_ONCE):
        results = translator.translate(
            [row.text for row in batch],
            alignment=wanted.alignments,
            token_log_probs=wanted.scores and wanted.json,
            numbers=range(done, done + len(batch)),
        )
        for row, result in zip(batch, results, strict=True):
            done += 1
            _tell(row, result.warnings)
            out.write(row.write(result, done).encode("utf-8"))
        out.flush()
        advance(len(batch))


def write_streams(
    translator: Translator, rows: Iterable[Row | None], wanted: Wanted, out: BinaryIO
) -> None:
    """Translate plain rows one by one, and write each piece as it comes."""
    for row in filter(None, rows):
        stream = translator.stream(row.text)
        try:
            for piece in stream:
                out.write(SPACES.sub(" ", piece).encode("utf-8"))
                out.flush()
        finally:
            stream.close()
        _, *columns = wanted.columns(stream.result)[0]
        out.write("".join([*(f"\t{column}" for column in columns), "\n"]).encode("utf-8"))
        out.flush()
        _tell(row, stream.result.warnings)


def _tell(row: Row, warnings: Sequence[str]) -> None:
    for warning in warnings:
        log.warning("%s: %s...: %s", row.where, row.text[:TOLD], warning)
