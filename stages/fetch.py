"""Fetch corpora, of whatever source and format, as tables in `data/raw/`.

`python -m stages.fetch --peek 5` writes nothing: it shows how the first 5 rows of each file are
understood, so that a wrong column or delimiter is seen at once.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hanyi.corpus.sources import FetchConfig, fetch_corpora
from hanyi.corpus.sources.peek import Look, look_at_corpora
from hanyi.errors import EXIT_FAULT
from hanyi.languages import Languages
from hanyi.params import load_section
from hanyi.tracking import Tracker
from stages.harness import one_line_errors, run
from stages.paths import RAW

CHARS_SHOWN = 200  # of a side
COLUMNS_OF_A_PIPE = 120  # where there is no terminal to ask


def main(tracker: Tracker) -> dict[str, Any]:  # noqa: ARG001
    """Fetch the corpora that `fetch.corpora` lists; give the rows of each."""
    fetch, languages = load_section("fetch", FetchConfig), load_section("languages", Languages)
    return fetch_corpora(fetch, languages, RAW)


def peek(rows: int) -> int:
    """Print the first rows of each file as they are understood; give the exit code."""
    fetch, languages = load_section("fetch", FetchConfig), load_section("languages", Languages)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = COLUMNS_OF_A_PIPE
    faults = 0
    for look in look_at_corpora(fetch, languages, rows):
        console.print(Text(_shown(look.title), "bold"), soft_wrap=True)
        console.print(Text(look.reading), soft_wrap=True)
        if look.rows:
            console.print(_table(look))
        if look.error:
            console.print(Text(f"error: {look.error}", "bold red"), soft_wrap=True)
            faults += 1
        console.print()
    return EXIT_FAULT if faults else 0


def _table(look: Look) -> Table:
    table = Table(box=box.SIMPLE, expand=True)
    line, *sides = look.heads
    table.add_column(line, justify="right", no_wrap=True)
    for side in sides:
        table.add_column(Text(_shown(side)), overflow="fold", ratio=1)
    for number, *cells in look.rows:
        table.add_row(number, *(Text(_shown(cell)) for cell in cells))
    return table


def _shown(text: str) -> str:
    """Show what is invisible as its escape, so that it is seen and moves no cursor."""
    cut = text[:CHARS_SHOWN] + ("…" if len(text) > CHARS_SHOWN else "")
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in cut
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stages.fetch", description=__doc__)
    parser.add_argument(
        "--peek", type=int, metavar="N", help="only show how the first N rows are understood"
    )
    return parser.parse_args()


if __name__ == "__main__":
    if (wanted := _arguments().peek) is None:
        run("fetch", main)
    else:
        logging.basicConfig(format="fetch: %(message)s", stream=sys.stderr)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `... --peek 50 | head` ends quietly
        with one_line_errors("fetch"):
            sys.exit(peek(max(wanted, 1)))
