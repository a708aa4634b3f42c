"""Tables of figures that scripts print: on a terminal or in a log, or as Markdown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows of cells as people read them; columns that `texts` names stand left, numbers right."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: Collection[str]

    def markdown(self) -> str:
        """Write it in Markdown."""
        rules = ["---" if head in self.texts else "---:" for head in self.heads]
        lines = (self.heads, rules, *self.rows)
        return "".join(f"| {' | '.join(map(_escaped, cells))} |\n" for cells in lines)

    def terminal(self, styles: Sequence[str | None] = ()) -> str:
        """Write it in columns as wide as the terminal allows; `styles` are rich's, row by row."""
        table = Table(box=None, pad_edge=False)
        for head in self.heads:
            table.add_column(
                head, justify="left" if head in self.texts else "right", overflow="fold"
            )
        for place, cells in enumerate(self.rows):
            style = styles[place] if styles else None
            table.add_row(*map(Text, cells), style=style)
        console = Console(highlight=False)
        with console.capture() as captured:
            console.print(table)
        return captured.get()


def _escaped(cell: str) -> str:
    return cell.strip().replace("|", "\\|")
