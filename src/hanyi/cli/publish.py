"""`hanyi publish`: rows in MLflow for what was built without it."""

from __future__ import annotations

import typer

from hanyi.cli.terminal import one_line_errors


def publish() -> None:
    """Add to MLflow what it lacks: runs while it was down, experiments from DVC's cache."""
    with one_line_errors():
        from hanyi.tracking.identity import project_root
        from hanyi.tracking.recorder import prepare_mlflow

        prepare_mlflow()
        from hanyi.tracking import publish as publishing

        lines = 0
        for line in publishing.publish(project_root()):
            typer.echo(line)
            lines += 1
        if not lines:
            typer.echo("nothing is missing")
