"""`hanyi card`: what a model is, was made of, and is good for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hanyi.cli.terminal import one_line_errors

RevisionOption = Annotated[
    Optional[str],  # noqa: UP045  typer reads annotations at run time
    typer.Option("--rev", help="Git revision or DVC experiment; the workspace unless given."),
]
LicenseOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--license", help="Licence of the model; as its data say unless given."),
]


def card(
    *,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--output", "-o", help="File; standard output unless given."),
    ] = None,
    rev: RevisionOption = None,
    license_: LicenseOption = None,
) -> None:
    """Write the model card of a run: data, scores, limits, origin."""
    with one_line_errors():
        from hanyi.artifacts import write_text
        from hanyi.card import card_of
        from hanyi.translator import find_model, model_at

        text = card_of(model_at(rev) if rev else find_model(Path()), license_)
        if output is None:
            typer.echo(text, nl=False)
        else:
            write_text(output, text)
