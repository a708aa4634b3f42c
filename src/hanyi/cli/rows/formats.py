"""How a line holds its text, and how the translation is put beside it."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hanyi.cli.rows.columns import Wanted, to_json
from hanyi.cli.rows.reading import Line
from hanyi.errors import DataError, ParamsError

if TYPE_CHECKING:
    from hanyi.translator import Result

SUFFIXES = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
TOLD = 8  # keys or columns that an error lists


@dataclass(frozen=True, slots=True)
class Row:
    """A text to translate; an empty one is not."""

    text: str
    where: str  # as errors name it
    write: Callable[[Result, int], str]  # the result and the number of the row, from 1, as lines


class Format:
    """Makes a row of each line of one file."""

    def __init__(self, wanted: Wanted, column: str | None, *, header: bool) -> None:
        self.wanted = wanted
        self.column = column
        self.header = header

    @abstractmethod
    def row(self, line: Line) -> Row:
        """Take the text out of a line; raise `HanyiError` when it has none."""

    def kept(self, line: Line, text: str = "") -> Row:
        """Give a row of a line without a text, in whose place `text` is written."""
        return Row("", line.where, lambda _result, _number: f"{text}\n")


class Plain(Format):
    """A text on each line; columns are parted by tabs, n-best translations stand on their lines."""

    def row(self, line: Line) -> Row:
        """Take the line as it is."""

        def write(result: Result, number: int) -> str:
            if self.wanted.json:
                return to_json({"source": line.text, **self.wanted.fields(result)}) + "\n"
            rows = self.wanted.columns(result)
            if self.wanted.n_best > 1:
                rows = [[f"{number}", f"{rank}", *row] for rank, row in enumerate(rows, start=1)]
            return "".join("\t".join(row) + "\n" for row in rows)

        return Row(_unicode(line.text, line.where), line.where, write)


class Tsv(Format):
    """Columns parted by tabs, never quoted; those of the translation come last."""

    def __init__(self, wanted: Wanted, column: str | None, *, header: bool) -> None:
        column = column or "0"
        named = not column.isdecimal()
        super().__init__(wanted, column, header=header or named)
        self.place = None if named else int(column)
        self.begun = False

    def row(self, line: Line) -> Row:
        """Take a column; the first line of a file may name them."""
        columns = line.text.split("\t")
        head, self.begun = self.header and not self.begun, True
        if head:
            return self._head(line, columns)
        if not line.text:
            return self.kept(line)
        if self.place is None or self.place >= len(columns):
            raise _no_column(line, f"{self.place}", [f"{len(columns)} columns, from 0"])

        def write(result: Result, _number: int) -> str:
            if self.wanted.json:
                return to_json({"columns": columns, **self.wanted.fields(result)}) + "\n"
            rows = self.wanted.columns(result)
            rows += [[""] * len(rows[0])] * (self.wanted.n_best - len(rows))
            return "\t".join([line.text, *(cell for row in rows for cell in row)]) + "\n"

        return Row(columns[self.place], line.where, write)

    def _head(self, line: Line, names: list[str]) -> Row:
        if self.place is None:
            if self.column not in names:
                raise _no_column(line, f"{self.column}", names)
            self.place = names.index(self.column)
        if self.wanted.json:  # where each line tells for itself
            return Row("", line.where, lambda _result, _number: "")
        own = [
            f"{name}_{rank}" if rank > 1 else name
            for rank in range(1, self.wanted.n_best + 1)
            for name in self.wanted.names
        ]
        _check_free(line, own, names)
        return self.kept(line, "\t".join([line.text, *own]))


class JsonLines(Format):
    """An object on each line; keys of the translation are added, and what is there stays."""

    def row(self, line: Line) -> Row:
        """Take the value of a key."""
        if not line.text.strip():
            return self.kept(line, line.text)
        key, fields = self.column or "text", _parsed(line)
        if key not in fields:
            raise _no_column(line, key, list(fields))
        if not isinstance(text := fields[key], str):
            found = f"{key}: {json.dumps(text)}"
            raise DataError(line.where, found, "a text", "mend the line, or name another key")

        def write(result: Result, _number: int) -> str:
            added = self.wanted.fields(result)
            _check_free(line, added, fields)
            # What was there is not written anew, so that it stays as it is to the letter.
            begin = line.text.rstrip().removesuffix("}").rstrip()
            return f"{begin}, {to_json(added).removeprefix('{')}\n"

        return Row(_unicode(text, line.where), line.where, write)


FORMATS: dict[str, type[Format]] = {"plain": Plain, "tsv": Tsv, "jsonl": JsonLines}


def choose_format(name: str, file: Path) -> str:
    """Give the name of a format; `auto` goes by the suffix of the file."""
    if name == "auto":
        return SUFFIXES.get(file.suffix.lower(), "plain")
    if name not in FORMATS:
        raise ParamsError("--format", name, f"auto, {', '.join(FORMATS)}", "choose one of them")
    return name


def _parsed(line: Line) -> dict[str, Any]:
    try:
        fields = json.loads(line.text)
    except (ValueError, RecursionError) as error:
        found = str(error)
    else:
        if isinstance(fields, dict):
            return fields
        found = type(fields).__name__
    raise DataError(line.where, found, "a JSON object", "mend the line, or set --format")


def _check_free(line: Line, added: Iterable[str], there: Container[str]) -> None:
    for name in added:
        if name in there:
            raise DataError(
                line.where,
                f"{name}, which is there already",
                "names that are free for what is added",
                "rename it, or name the translation by --into",
            )


def _no_column(line: Line, column: str, names: list[str]) -> DataError:
    told = ", ".join(names[:TOLD]) + (", ..." if len(names) > TOLD else "")
    return DataError(
        line.where, f"no {column} among {told}", "the text to translate", "name it by --column"
    )


def _unicode(text: str, where: str) -> str:
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise DataError(where, "half a surrogate pair", "Unicode text", "mend its encoding")
    return text
