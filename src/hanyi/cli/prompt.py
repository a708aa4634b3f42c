"""A conversation on a terminal: a text, its translation, and the next."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from hanyi.cli.rows.reading import Line


def typed_lines(languages: str) -> Iterator[Line]:
    """Give each line that a person types, until an empty one or the end of input (Ctrl-D)."""
    import readline  # noqa: F401  lets `input` edit lines and remember them

    prompt = f"{languages}> "
    sys.stderr.write("An empty line or Ctrl-D ends.\n")
    number = 0
    while True:
        try:
            if sys.stdout.isatty():
                text = input(prompt)
            else:  # which holds translations alone
                sys.stderr.write(prompt)
                sys.stderr.flush()
                text = input()
        except EOFError:
            sys.stderr.write("\n")
            return
        if not text.strip():
            return
        number += 1
        yield Line(text, f"line {number}")
