"""`hanyi pictures`: positional encodings and masks, for those who read about them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hanyi.cli.terminal import one_line_errors
from hanyi.errors import ParamsError


def pictures(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pictures.")],
    d_model: Annotated[int, typer.Option(min=2, help="Width of the encodings, even.")] = 128,
    positions: Annotated[int, typer.Option(min=1, help="Positions of the encodings.")] = 64,
    length: Annotated[
        int, typer.Option(min=4, help="Tokens of the masks; the last 3 are padding.")
    ] = 10,
    form: Annotated[str, typer.Option("--format", help="png, svg or pdf.")] = "png",
) -> None:
    """Draw positional encodings in both layouts, and the padding and causal masks."""
    with one_line_errors():
        from hanyi.pictures.encodings import draw_masks, draw_positions
        from hanyi.pictures.saving import FORMATS

        known = ", ".join(suffix.lstrip(".") for suffix in FORMATS)
        if f".{form}" not in FORMATS:
            raise ParamsError("--format", form, f"one of {known}", "choose one of them")
        if d_model % 2:
            raise ParamsError("--d-model", f"{d_model}", "an even number", "choose another")
        draw_positions(output / f"positions.{form}", d_model, positions)
        draw_masks(output / f"masks.{form}", length)
        for name in ("positions", "masks"):
            typer.echo(f"{output / name}.{form}")
