"""`hanyi register`: a run's model into MLflow's registry."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from hanyi.cli.card import LicenseOption, RevisionOption
from hanyi.cli.terminal import one_line_errors
from hanyi.errors import ParamsError


def register(
    name: Annotated[str, typer.Argument(help="Name in the registry.")] = "hanyi",
    *,
    run: Annotated[
        Optional[str],  # noqa: UP045  typer reads annotations at run time
        typer.Option("--run", metavar="ID", help="Row of MLflow whose model it is."),
    ] = None,
    rev: RevisionOption = None,
    alias: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--alias", help="Name for this version, such as champion."),
    ] = None,
    license_: LicenseOption = None,
) -> None:
    """Put the model of a run into MLflow's registry, as one that translates."""
    with one_line_errors():
        if run and rev:
            raise ParamsError("--run", "given with --rev", "one of them", "leave one out")
        from hanyi.registration.registry import Wish
        from hanyi.registration.registry import register as put

        version = put(Wish(name=name, revision=rev, run=run, alias=alias, license=license_))
        typer.echo(
            f"{version.uri}: {'registered' if version.new else 'the same model, no new one'}"
        )
        if alias:
            typer.echo(f"models:/{name}@{alias}: this version now")
        row = f"run {version.row}" if version.row else "no run: `hanyi publish` makes its row"
        typer.echo(f"logged under {row}", err=True)
