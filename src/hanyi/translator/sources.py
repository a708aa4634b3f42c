"""A model by its name: a directory, a revision of the project, or a URI of MLflow."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from hanyi.errors import ParamsError
from hanyi.revisions import unknown_revision
from hanyi.translator.folders import ModelFolder, in_directory
from hanyi.translator.revisions import from_revision

URI = re.compile(r"[a-z][a-z0-9+.-]+:/")
WIRING = "dvc.yaml"


def find_model(source: str | Path, tokenizers: Path | None = None) -> ModelFolder:
    """Find the model that `source` names, and fetch it if it is not in a directory.

    It is a directory (a model, a bundle or a project), a git revision or DVC experiment of the
    project in the current directory, or a URI such as `models:/hanyi@champion`. Raises
    `HanyiError`, which says what was looked for, when there is none.
    """
    directory = Path(source)
    if directory.is_dir():
        return in_directory(directory, tokenizers)
    name, project = str(source), _project()
    if URI.match(name):
        from hanyi.translator.registered import from_mlflow

        return from_mlflow(name, project, tokenizers)
    if found := from_revision(name, project):
        return found if tokenizers is None else replace(found, tokenizers=tokenizers)
    raise ParamsError(
        "--model",
        f"{name}, no folder and no name in git or DVC",
        "a directory with a model, a git revision, a DVC experiment or a URI of MLflow",
        "look at `git log`, `dvc exp list` or the MLflow UI",
    )


def model_at(revision: str) -> ModelFolder:
    """Find the model of a git revision or DVC experiment, also where a folder has its name.

    Raises `HanyiError` when the project in the current directory has none.
    """
    if found := from_revision(revision, _project()):
        return found
    raise unknown_revision(revision)


def _project() -> Path:
    """Give the nearest folder, from the current one upwards, that is a project."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / WIRING).is_file()), here)
