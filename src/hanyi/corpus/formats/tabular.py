"""What TSV and CSV share: records of fields, the two columns, and the check of the first rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from hanyi.corpus.formats.arrays import Layout
from hanyi.corpus.formats.encodings import decide_encoding, guess_of
from hanyi.corpus.formats.headers import looks_like_names
from hanyi.corpus.formats.inputs import AUTO, Input
from hanyi.corpus.formats.named import listed
from hanyi.corpus.formats.plausible import check_line_ends, check_sides
from hanyi.errors import DataError

SAMPLE_ROWS = 100
SAMPLE_BYTES = 1 << 16
COLUMNS_MAX = 1000
"""More are no table; rows are not split further than is needed to see that."""
TAB = "\t"
DELIMITERS = f"{TAB},;|"


class Record(NamedTuple):
    """The fields of a row; one that cannot be split has its text as only field, and a fault."""

    line: int
    fields: Sequence[str]
    fault: str | None


def layout(file: Input) -> Layout:
    """Give where the two columns are in a file that has been inspected."""
    reading = file.reading
    return Layout(reading.delimiter, file.columns, *_numbers(file))


def _numbers(file: Input) -> tuple[int, int]:
    src, tgt = file.reading.src_column, file.reading.tgt_column
    assert isinstance(src, int)
    assert isinstance(tgt, int)
    return src, tgt


def inspect(file: Input, records: Callable[[Input], Iterator[Record]], delimiter: str) -> Input:
    """Decide what is `auto` and check the first rows; give the file with its number of columns.

    `delimiter` is that of the format. Raises `DataError` that names the line, and the parameter of
    `section` to set.
    """
    file = decide_encoding(file)
    check_line_ends(file)
    if file.reading.delimiter == AUTO:
        file = replace(file, reading=replace(file.reading, delimiter=delimiter))
    found = list(islice(records(file), SAMPLE_ROWS + 1))
    header, rows = (found[:1], found[1:]) if file.reading.header else ([], found[:SAMPLE_ROWS])
    rows = [row for row in rows if row.fault != "blank"]
    if not rows:
        what = "no rows after the header" if header else "only blank lines"
        what = what if found else "an empty file"
        raise DataError(f"{file.name}:1", what, "rows of sentence pairs", "give another file")
    _check_decoded(file, rows)
    readable = [row for row in rows if row.fault is None]
    if 2 * len(readable) < len(rows):
        first = next(row for row in rows if row.fault)
        raise DataError(
            f"{file.name}:{first.line}", "a quoted field that does not end, or text after one",
            f"RFC 4180 with {_name(file.reading.delimiter)} between the columns",
            f"set {file.section}.delimiter, or {file.section}.format: tsv, which knows no quotes",
        )  # fmt: skip
    file = _named_columns(file, header)
    columns = _count_columns(file, readable)
    src, tgt = _numbers(file)
    whole = [row for row in readable if len(row.fields) == columns]
    if not header:
        _check_header(file, whole[0])
    _check_letters(file, whole)
    check_sides(
        file, [(row.line, row.fields[src], row.fields[tgt]) for row in whole],
        "columns", f"set {file.section}.src_column: {tgt} and tgt_column: {src}",
    )  # fmt: skip
    return replace(file, columns=columns)


def _named_columns(file: Input, header: list[Record]) -> Input:
    """Turn names of columns into their numbers."""
    src = _number(file, header, "src_column", file.reading.src_column)
    tgt = _number(file, header, "tgt_column", file.reading.tgt_column)
    if src == tgt:
        raise DataError(
            f"{file.section}.src_column", f"column {src}, as tgt_column", "two different columns",
            f"set {file.section}.src_column or tgt_column",
        )  # fmt: skip
    return replace(file, reading=replace(file.reading, src_column=src, tgt_column=tgt))


def _number(file: Input, header: list[Record], side: str, wanted: int | str) -> int:
    if isinstance(wanted, int):
        return wanted
    key = f"{file.section}.{side}"
    if not header:
        raise DataError(
            key, f"the name {wanted!r}", "a number while the file has no header row",
            f"set {file.section}.header: true, or a number from 0",
        )  # fmt: skip
    names = [name.strip() for name in header[0].fields]
    if names.count(wanted) != 1:
        times = f"{names.count(wanted)} columns" if wanted in names else "no column"
        raise DataError(
            f"{file.name}:{header[0].line}", f"{times} {wanted!r}",
            f"one of {listed([repr(name[:40]) for name in names])}", f"set {key}",
        )  # fmt: skip
    return names.index(wanted)


def _check_decoded(file: Input, rows: list[Record]) -> None:
    broken = [row for row in rows if row.fault == "encoding"]
    if 2 * len(broken) >= len(rows):
        encoding, key = file.reading.encoding, f"{file.section}.encoding"
        guess = guess_of(file.path, (file.languages.src, file.languages.tgt))
        raise DataError(
            f"{file.name}:{broken[0].line}",
            f"bytes that are no {encoding} in {len(broken)} of the first {len(rows)} rows",
            f"{encoding} text",
            f"set {key}: {guess or AUTO}, or convert the file",
        )


def _count_columns(file: Input, rows: list[Record]) -> int:
    """Give the number of columns that most of the first rows have."""
    delimiter, section = file.reading.delimiter, file.section
    number, side = max(zip(_numbers(file), ("src_column", "tgt_column"), strict=True))
    counts = Counter(len(row.fields) for row in rows)
    columns, times = counts.most_common(1)[0]
    if columns > COLUMNS_MAX:
        raise DataError(
            f"{file.name}:1", f"more than {COLUMNS_MAX} columns", "a few",
            f"set {section}.delimiter, now {_name(delimiter)}",
        )  # fmt: skip
    few = [row for row in rows if len(row.fields) <= number]
    if 2 * len(few) >= len(rows):
        found = f"{_plural(len(few[0].fields))} between {_name(delimiter)}"
        if len(few[0].fields) > 1:
            remedy = f"set {section}.{side}, now {number}; columns count from 0"
        else:
            remedy = f"set {section}.delimiter{_better(rows, delimiter, number)}"
        raise DataError(f"{file.name}:{few[0].line}", found, f"at least {number + 1}", remedy)
    tabs = [row for row in rows if delimiter != TAB and any(TAB in cell for cell in row.fields)]
    if 2 * len(tabs) > len(rows):  # a space or a comma parts many a TSV row somewhere
        raise DataError(
            f"{file.name}:{tabs[0].line}", f"tabs inside the columns between {_name(delimiter)}",
            "columns of plain text", f"set {section}.delimiter to {_name(TAB)}",
        )  # fmt: skip
    if 2 * times < len(rows):
        odd = next(row for row in rows if len(row.fields) != columns)
        raise DataError(
            f"{file.name}:{odd.line}",
            f"{_plural(len(odd.fields))}, elsewhere {columns} and others",
            "the same number in each row",
            f"set {section}.delimiter, now {_name(delimiter)}, or {section}.format if fields are"
            " quoted",
        )
    return columns


def _better(rows: list[Record], delimiter: str, number: int) -> str:
    for other in DELIMITERS.replace(delimiter, ""):
        fits = sum(1 for row in rows if delimiter.join(row.fields).count(other) == number)
        if 2 * fits > len(rows):
            return f" to {_name(other)}"
    return " to what stands between the columns"


def _check_header(file: Input, first: Record) -> None:
    src, tgt = (first.fields[number] for number in _numbers(file))
    if looks_like_names(src, tgt):
        found = f"a header row ({src[:40]!r}, {tgt[:40]!r})"
        raise DataError(
            f"{file.name}:{first.line}", found, "a sentence pair",
            f"set {file.section}.header: true",
        )  # fmt: skip


def _check_letters(file: Input, rows: list[Record]) -> None:
    """Refuse a column of numbers or of nothing: an id, a score, a date."""
    for column, side in zip(_numbers(file), ("src_column", "tgt_column"), strict=True):
        if len(rows) > 2 and not any(any(map(str.isalpha, row.fields[column])) for row in rows):
            raise DataError(
                f"{file.name}:{rows[0].line}",
                f"no letter in column {column} of the first rows ({rows[0].fields[column][:40]!r})",
                "sentences", f"set {file.section}.{side}; columns count from 0",
            )  # fmt: skip


def _name(delimiter: str) -> str:
    return {TAB: r'"\t"', " ": '" "'}.get(delimiter, f'"{delimiter}"')


def _plural(count: int) -> str:
    return f"{count} column" if count == 1 else f"{count} columns"
