"""`hanyi runs`: the saved states of trainings."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from hanyi.cli.terminal import one_line_errors, show_table
from hanyi.training.state import state_root

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def list_all(context: typer.Context) -> None:
    """List the saved states of trainings whose model is not published yet, the newest first."""
    if context.invoked_subcommand is not None:
        return
    with one_line_errors():
        from hanyi.runs import COLUMNS, list_runs

        found = list_runs(state_root())
        if found:
            show_table([COLUMNS, *(run.row() for run in found)])
        else:
            typer.echo(f"{state_root()}: no training was interrupted", err=True)


@app.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Beginning of its name.")],
) -> None:
    """Show what a run trains, and its validations."""
    with one_line_errors():
        from hanyi.runs import COLUMNS, find_run, history, list_runs, settings

        found = find_run(list_runs(state_root()), run)
        show_table([COLUMNS, found.row()])
        show_table([("setting", "value"), *settings(found)])
        if found.newest and found.newest.history:
            show_table(history(found))


@app.command()
def prune(
    runs: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="[RUN]...", help="Beginnings of their names."),
    ] = None,
    *,
    older_than: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(metavar="DAYS", help="Only what was saved longer ago."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All runs.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove saved states for good; one that is being trained stays."""
    with one_line_errors():
        from hanyi.runs import COLUMNS, choose, list_runs, remove

        chosen = choose(list_runs(state_root()), runs or [], older_than, everything)
        idle = [run for run in chosen if not run.in_use]
        for run in chosen:
            if run.in_use:
                typer.echo(f"{run.name}: is training now and stays", err=True)
        if not idle:
            typer.echo("nothing to remove", err=True)
            return
        show_table([COLUMNS, *(run.row() for run in idle)])
        if not yes:
            typer.confirm(f"Remove {len(idle)} for good?", abort=True, err=True)
        for run in idle:
            if not remove(run):
                typer.echo(f"{run.name}: is training now and stays", err=True)
