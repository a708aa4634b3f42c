"""`hanyi translate`: one line out for each line in."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated, Optional

import typer

from hanyi.cli.options import (
    MODEL,
    BeamOption,
    DeviceOption,
    ModelOption,
    TokenizersOption,
    load_translator,
)
from hanyi.cli.terminal import one_line_errors
from hanyi.errors import DataError

LINES_AT_ONCE = 512


def translate(
    texts: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="[TEXT]...", help="Texts; lines of standard input unless given."),
    ] = None,
    model: ModelOption = MODEL,
    tokenizers: TokenizersOption = None,
    device: DeviceOption = None,
    beam_size: BeamOption = None,
) -> None:
    """Translate texts: one line out for each line in."""
    with one_line_errors():
        translator = load_translator(model, tokenizers, device, beam_size)
        lines = iter(texts) if texts else _standard_input()
        # A person who types wants each answer at once; a file is faster in batches.
        count = 1 if not texts and sys.stdin.isatty() else LINES_AT_ONCE
        while batch := list(islice(lines, count)):
            for found in translator.translate(batch):
                typer.echo(" ".join(found.text.split()))


def _standard_input() -> Iterator[str]:
    lines: Iterable[str] = typer.get_text_stream("stdin", encoding="utf-8-sig", errors="strict")
    read = 0
    try:
        for line in lines:
            yield line
            read += 1
    except UnicodeDecodeError as error:
        raise DataError(
            f"standard input, after line {read}", str(error), "UTF-8", "convert it"
        ) from None
