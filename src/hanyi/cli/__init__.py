"""The command line: `hanyi COMMAND`. Each command is a module of its own, named after it."""

from __future__ import annotations

import logging
import sys

import typer

from hanyi.cli import export, runs
from hanyi.cli.attention import attention
from hanyi.cli.card import card
from hanyi.cli.doctor import doctor
from hanyi.cli.explain import explain
from hanyi.cli.pictures import pictures
from hanyi.cli.publish import publish
from hanyi.cli.register import register
from hanyi.cli.serve import serve
from hanyi.cli.translate import translate

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def main() -> None:
    """Hanyi (汉译): use a trained translation model; see to trainings that were interrupted."""
    logging.basicConfig(format="%(message)s", level=logging.WARNING, stream=sys.stderr, force=True)


app.command()(translate)
app.command()(attention)
app.command()(explain)
app.command()(pictures)
app.command()(serve)
app.command()(doctor)
app.command()(publish)
app.command()(card)
app.command()(register)
app.add_typer(export.app, name="export")
app.add_typer(runs.app, name="runs")
