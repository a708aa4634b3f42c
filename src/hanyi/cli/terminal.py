"""What every command shares: errors as one line, tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from hanyi.errors import EXIT_FAULT, HanyiError

EXIT_INTERRUPTED = 130  # as shells tell of SIGINT
EXIT_UNREAD = 1


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Show a `HanyiError`, or a file that cannot be used, as one line, and exit with 2.

    Ctrl-C, and a reader who has read enough (`hanyi ... | head`), end without a word.
    """
    try:
        yield
    except HanyiError as error:
        typer.echo(f"hanyi: error: {error}", err=True)
        raise typer.Exit(EXIT_FAULT) from None
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        # Python flushes standard output once more in the end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(EXIT_UNREAD) from None
    except OSError as error:
        if error.filename is None:
            raise
        typer.echo(f"hanyi: error: {error.filename}: {error.strerror}; name another", err=True)
        raise typer.Exit(EXIT_FAULT) from None


def on_terminal() -> bool:
    """Tell whether a person reads the output."""
    return sys.stdout.isatty()


def show_table(rows: Sequence[Sequence[str]]) -> None:
    """Show a table whose first row is its header; columns parted by tabs unless on a terminal."""
    if not on_terminal():
        for row in rows:
            typer.echo("\t".join(row))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*rows[0])
    for row in rows[1:]:
        table.add_row(*(escape(cell) for cell in row))
    Console().print(table)
