"""`hanyi explain`: what the model does with a sentence, as a page or as data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
from hanyi.errors import ParamsError

SUFFIXES = (".html", ".json")


def explain(
    *,
    text: Annotated[str, typer.Argument(help="One sentence.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help=".html: a page that needs no network; .json: the numbers behind it.",
        ),
    ],
    model: ModelOption = MODEL,
    tokenizers: TokenizersOption = None,
    device: DeviceOption = None,
    beam_size: BeamOption = None,
) -> None:
    """Show how a sentence is translated: attention, probabilities, the tree of the search."""
    with one_line_errors():
        if output.suffix not in SUFFIXES:
            expected = f"a name ending in {' or '.join(SUFFIXES)}"
            raise ParamsError("--output", f"{output}", expected, "rename it")
        from hanyi import explain as room
        from hanyi.artifacts import write_text

        translator = load_translator(model, tokenizers, device, beam_size)
        found = room.explain(translator, text)
        described = room.describe(translator)
        if output.suffix == ".html":
            write_text(output, room.page(described, found))
        else:
            data = {"model": described, "sentence": found}
            write_text(output, f"{room.compact(data)}\n")
        typer.echo(found["translation"])
