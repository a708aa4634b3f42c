"""What TSV and CSV share: records of fields, the two columns, and the check of the first rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from hanyi.corpus.formats.encodings import check_encoding, guess_of
from hanyi.corpus.formats.headers import looks_like_names
from hanyi.corpus.formats.text import MARK, lines
from hanyi.corpus.pairs import RawFile, Row
from hanyi.errors import DataError

SAMPLE_ROWS = 100
TAB = "\t"
DELIMITERS = f"{TAB},;|"
REASONS = ("encoding", "blank", "quotes", "columns")
"""Faults of a row, in the order in which they are looked for."""

_REPLACEMENT = "\ufffd"


class Record(NamedTuple):
    """The fields of a row; one that cannot be split has its text as only field, and a fault."""

    line: int
    fields: Sequence[str]
    fault: str | None


Splitter = Callable[[Iterable[str], str], Iterator[Record]]
"""Turns lines and a delimiter into records: every line belongs to exactly one of them."""


def read(path: Path, file: RawFile, split: Splitter) -> Iterator[Row]:
    """Yield every row after the header, the faulty ones with their reason."""
    records = split(lines(path, file.encoding), file.delimiter)
    src, tgt, columns = file.src_column, file.tgt_column, file.columns
    for line, fields, fault in islice(records, int(file.header), None):
        if fault is None and len(fields) == columns:
            yield Row(line, fields[src], fields[tgt], None)
        else:
            text = file.delimiter.join(fields).replace(MARK, _REPLACEMENT)
            yield Row(line, text, "", fault or "columns")


def inspect(path: Path, file: RawFile, split: Splitter, section: str) -> RawFile:
    """Check the first rows against the parameters; give the file with its number of columns.

    Raises `DataError` that names the line, and the parameter of `section` to set.
    """
    check_encoding(path, file.encoding, f"{section}.encoding")
    records = list(islice(split(lines(path, file.encoding), file.delimiter), SAMPLE_ROWS + 1))
    header, rows = (records[:1], records[1:]) if file.header else ([], records[:SAMPLE_ROWS])
    rows = [row for row in rows if row.fault != "blank"]
    if not rows:
        found = "no rows after the header" if header else "only blank lines"
        found = found if records else "an empty file"
        raise DataError(f"{path}:1", found, "rows of sentence pairs", "give another file")
    _check_decoded(path, file, rows, section)
    readable = [row for row in rows if row.fault is None]
    if 2 * len(readable) < len(rows):
        first = next(row for row in rows if row.fault)
        raise DataError(
            f"{path}:{first.line}", "a quoted field that does not end, or text after one",
            f"RFC 4180 with {_name(file.delimiter)} between the columns",
            f"set {section}.delimiter, or {section}.format: tsv, which knows no quotes",
        )  # fmt: skip
    columns = _count_columns(path, file, readable, section)
    whole = [row for row in readable if len(row.fields) == columns]
    if not file.header:
        _check_header(path, file, whole[0], section)
    _check_letters(path, file, whole, section)
    return replace(file, columns=columns)


def _check_decoded(path: Path, file: RawFile, rows: list[Record], section: str) -> None:
    broken = [row for row in rows if row.fault == "encoding"]
    if 2 * len(broken) >= len(rows):
        guess = guess_of(path)
        hint = f"set {section}.encoding: {guess}" if guess else f"set {section}.encoding"
        raise DataError(
            f"{path}:{broken[0].line}",
            f"bytes that are no {file.encoding} in {len(broken)} of the first {len(rows)} rows",
            f"{file.encoding} text", f"{hint}, or convert the file",
        )  # fmt: skip


def _count_columns(path: Path, file: RawFile, rows: list[Record], section: str) -> int:
    """Give the number of columns that most of the first rows have."""
    needed = max(file.src_column, file.tgt_column) + 1
    counts = Counter(len(row.fields) for row in rows)
    columns, times = counts.most_common(1)[0]
    few = [row for row in rows if len(row.fields) < needed]
    if 2 * len(few) >= len(rows):
        found = f"{_plural(len(few[0].fields))} between {_name(file.delimiter)}"
        if len(few[0].fields) > 1:
            side, number = max(
                ("src_column", file.src_column), ("tgt_column", file.tgt_column), key=lambda s: s[1]
            )
            remedy = f"set {section}.{side}, now {number}; columns count from 0"
        else:
            remedy = f"set {section}.delimiter{_better(rows, file.delimiter, needed)}"
        raise DataError(f"{path}:{few[0].line}", found, f"at least {needed}", remedy)
    tabs = [row for row in rows if file.delimiter != TAB and any(TAB in x for x in row.fields)]
    if 2 * len(tabs) > len(rows):  # a space or a comma parts many a TSV row somewhere
        raise DataError(
            f"{path}:{tabs[0].line}", f"tabs inside the columns between {_name(file.delimiter)}",
            "columns of plain text", f"set {section}.delimiter to {_name(TAB)}",
        )  # fmt: skip
    if 2 * times < len(rows):
        odd = next(row for row in rows if len(row.fields) != columns)
        raise DataError(
            f"{path}:{odd.line}", f"{_plural(len(odd.fields))}, elsewhere {columns} and others",
            "the same number in each row",
            f"set {section}.delimiter, now {_name(file.delimiter)},"
            f" or {section}.format if fields are quoted",
        )  # fmt: skip
    return columns


def _better(rows: list[Record], delimiter: str, needed: int) -> str:
    for other in DELIMITERS.replace(delimiter, ""):
        fits = sum(1 for row in rows if delimiter.join(row.fields).count(other) == needed - 1)
        if 2 * fits > len(rows):
            return f" to {_name(other)}"
    return " to what stands between the columns"


def _check_header(path: Path, file: RawFile, first: Record, section: str) -> None:
    src, tgt = first.fields[file.src_column], first.fields[file.tgt_column]
    if looks_like_names(src, tgt):
        raise DataError(
            f"{path}:{first.line}", f"a header row ({src!r}, {tgt!r})", "a sentence pair",
            f"set {section}.header: true",
        )  # fmt: skip


def _check_letters(path: Path, file: RawFile, rows: list[Record], section: str) -> None:
    """Refuse a column of numbers or of nothing: an id, a score, a date."""
    for side, column in (("src_column", file.src_column), ("tgt_column", file.tgt_column)):
        if len(rows) > 2 and not any(any(map(str.isalpha, row.fields[column])) for row in rows):
            raise DataError(
                f"{path}:{rows[0].line}",
                f"no letter in column {column} of the first rows ({rows[0].fields[column][:40]!r})",
                "sentences", f"set {section}.{side}; columns count from 0",
            )  # fmt: skip


def _name(delimiter: str) -> str:
    return {TAB: r'"\t"', " ": '" "'}.get(delimiter, f'"{delimiter}"')


def _plural(count: int) -> str:
    return f"{count} column" if count == 1 else f"{count} columns"
