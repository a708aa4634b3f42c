"""Where a model lies: its folder, its tokenizers, its parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hanyi.errors import ArtifactError
from hanyi.model.storage import DESCRIPTION
from hanyi.params import PARAMS_FILE
from hanyi.translator.settings import Settings, read_settings

INSIDE = ("", "transformer", "models/transformer")
"""Where the files of a model lie in a folder: at once, in a bundle (or `models`), in a project."""

MODELS = "models"
TOKENIZERS = "tokenizers"
FILES = ("src.json", "tgt.json")


@dataclass(frozen=True)
class ModelFolder:
    """The places of what a translator is made of."""

    model: Path  # holds weights.safetensors and config.json
    tokenizers: Path  # holds src.json and tgt.json
    params: Path | None  # the params.yaml that belongs to the model
    source: str  # what it was asked for by
    home: Path  # where relative folders in the parameters start
    revision: str | None = None  # of git or DVC, whose copy it is

    @cached_property
    def settings(self) -> Settings:
        """Read how the model is used, once."""
        return read_settings(self.params)


def in_directory(directory: Path, tokenizers: Path | None = None) -> ModelFolder:
    """Find the parts of a model in or around a directory; raise `ArtifactError` if one lacks."""
    places = [directory / inside for inside in INSIDE]
    model = next((place for place in places if (place / DESCRIPTION).is_file()), None)
    if model is None:
        raise ArtifactError(
            directory,
            f"no {DESCRIPTION} in it, in transformer/ or in models/transformer/",
            "a trained model, a bundle or a project with a model",
            "name another folder, or run `dvc repro train`",
        )
    roots = [model, *model.absolute().parents[:2]]
    if tokenizers is None:
        roots, tokenizers = _find_tokenizers(model, roots)
    params = next((file for file in _params(roots) if file.is_file()), None)
    home = params.parent if params else Path()
    return ModelFolder(model, tokenizers, params, str(directory), home)


def _find_tokenizers(model: Path, roots: list[Path]) -> tuple[list[Path], Path]:
    """Give the folder of the tokenizers, and the roots up to the one that holds it."""
    for number, root in enumerate(roots, start=1):
        if all((root / TOKENIZERS / name).is_file() for name in FILES):
            return roots[:number], root / TOKENIZERS
    raise ArtifactError(
        model,
        f"no {TOKENIZERS}/ with {' and '.join(FILES)} in it or in the two folders above",
        "the tokenizers of the model",
        "name their folder with --tokenizers",
    )


def _params(roots: list[Path]) -> Iterable[Path]:
    for root in roots:
        yield root / PARAMS_FILE
        if root.name == MODELS:
            yield root.parent / PARAMS_FILE
