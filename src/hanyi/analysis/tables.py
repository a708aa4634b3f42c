"""Tables of the report, written once and shown as CSV, Markdown and HTML."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple

DIGITS = 6  # of figures in CSV

Cell = str | int | float | None


class Kind(Enum):
    """What the cells of a column are, which decides how they are written."""

    TEXT = "text"
    COUNT = "count"
    SCORE = "score"
    SHARE = "share"

    def shown(self, cell: Cell) -> str:
        """Give a cell as people read it: 1,234 or 27.35 or 4.1%, – for none."""
        if cell is None:
            return "–"
        if isinstance(cell, str):
            return cell
        return {Kind.COUNT: f"{cell:,}", Kind.SHARE: f"{cell:.1%}"}.get(self, f"{cell:.2f}")


class Column(NamedTuple):
    """A column: its name in CSV, its head in the report, and what it holds."""

    name: str
    head: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a title and what must be known to read it."""

    name: str
    title: str
    note: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]

    def shown(self) -> list[list[str]]:
        """Give the cells as people read them."""
        return [
            [column.kind.shown(cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def of(self, name: str) -> list[Cell]:
        """Give the cells of one column."""
        place = [column.name for column in self.columns].index(name)
        return [row[place] for row in self.rows]

    def numbers_of(self, name: str) -> list[float]:
        """Give the numbers of one column, which has nothing else."""
        return [float(cell) for cell in self.of(name) if isinstance(cell, int | float)]


def write_csv(path: Path, table: Table) -> None:
    """Write a table for programs and `dvc plots`: plain numbers of 6 digits, shares from 0 to 1."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in table.columns])
        for row in table.rows:
            writer.writerow([round(one, DIGITS) if isinstance(one, float) else one for one in row])


def markdown(table: Table) -> list[str]:
    """Give the lines of a table in Markdown, numbers to the right."""
    rules = ["---" if column.kind is Kind.TEXT else "---:" for column in table.columns]
    heads = [column.head for column in table.columns]
    return [_line(row) for row in (heads, rules, *table.shown())]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
