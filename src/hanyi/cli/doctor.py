"""`hanyi doctor`: what is not as it should be, and whether the claims hold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from hanyi.cli.terminal import on_terminal, one_line_errors
from hanyi.errors import ParamsError

if TYPE_CHECKING:
    from hanyi.doctor.findings import Finding, Mark

COLOURS = {"GOOD": typer.colors.GREEN, "NOTE": typer.colors.YELLOW, "FAULT": typer.colors.RED}


def doctor(
    language: Annotated[
        Optional[str],  # noqa: UP045  typer reads annotations at run time
        typer.Option(help="en or zh; as the system's language unless given."),
    ] = None,
) -> None:
    """Look at machine and project, and prove the tutorials' claims on a small random model.

    Exits with 1 when something has to be mended.
    """
    with one_line_errors():
        from hanyi.doctor.claims import claims
        from hanyi.doctor.findings import LANGUAGES, Mark
        from hanyi.doctor.machine import machine
        from hanyi.doctor.project import project

        chosen = language or _system_language()
        if chosen not in LANGUAGES:
            raise ParamsError("--language", chosen, " or ".join(LANGUAGES), "choose one of them")
        root = Path.cwd()
        faults = 0
        for findings in (machine(root), project(root), claims()):
            for finding in findings:
                _tell(finding, chosen)
                faults += finding.mark is Mark.FAULT
    if faults:
        raise typer.Exit(1)


def _tell(finding: Finding, language: str) -> None:
    mark: Mark = finding.mark
    shown = typer.style(mark.value, fg=COLOURS[mark.name]) if on_terminal() else mark.value
    typer.echo(f"{shown} {finding.text(language)}")


def _system_language() -> str:
    asked = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG")
    return "zh" if (asked or "").startswith("zh") else "en"
