"""A model by its name: a directory, a revision of the project, or a URI of MLflow."""

from __future__ import annotations

import re
from pathlib import Path

from hanyi.errors import ParamsError
from hanyi.translator.folders import ModelFolder, in_directory

URI = re.compile(r"[a-z][a-z0-9+.-]+:/")


def find_model(source: str | Path, tokenizers: Path | None = None) -> ModelFolder:
    """Find the model that `source` names, and fetch it if it is not in a directory.

    It is a directory (a model, a bundle or a project), a git revision or DVC experiment of the
    project in the current directory, or a URI such as `models:/hanyi@champion`. Raises
    `HanyiError`, which says what was looked for, when there is none.
    """
    directory = Path(source)
    if directory.is_dir():
        return in_directory(directory, tokenizers)
    raise ParamsError(
        "--model",
        f"{source}",
        "a directory, a git revision, a DVC experiment or a URI of MLflow",
        "look at `git log`, `dvc exp list` or the MLflow UI",
    )
