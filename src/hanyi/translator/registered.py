"""Models in MLflow: registered versions and aliases, models of runs, artifacts anywhere."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from hanyi.artifacts import digest_path
from hanyi.errors import ArtifactError
from hanyi.tracking.address import SQLITE, store_address
from hanyi.tracking.recorder import prepare_mlflow
from hanyi.translator.folders import ModelFolder, in_directory
from hanyi.translator.revisions import KEPT

BUNDLE = "artifacts/bundle"
"""Where a registered model holds what `in_directory` finds; beside it lies code, for others."""


def from_mlflow(uri: str, project: Path, tokenizers: Path | None = None) -> ModelFolder:
    """Give the model of a URI, out of the project's store unless MLFLOW_TRACKING_URI names another.

    An alias may come to name another version, so the model is asked for each time; it is kept in
    `.hanyi/models/`, below the digest of its files. Raises `ArtifactError` when there is no such
    model, or when the store cannot be reached.
    """
    prepare_mlflow()
    store = store_address(project)
    file = store.removeprefix(SQLITE)
    if file != store and not Path(file).is_file():  # which MLflow would create
        raise _not_found(uri, f"there is no store {file}")
    kept = project / KEPT
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept, prefix=".download-") as room:
        model = _download(uri, store, Path(room))
        folder = kept / digest_path(model)
        if not folder.is_dir():
            with suppress(OSError):  # another process was faster
                model.rename(folder)
    return replace(in_directory(folder, tokenizers), source=uri)


def _download(uri: str, store: str, room: Path) -> Path:
    """Download what is needed of a model: the bundle, if it has one."""
    import mlflow  # two seconds

    mlflow.set_tracking_uri(store)
    try:
        return _load(mlflow, f"{uri}/{BUNDLE}", room / "bundle")
    except Exception:  # noqa: BLE001  each kind of store raises its own
        try:
            return _load(mlflow, uri, room / "model")
        except Exception as error:  # noqa: BLE001
            raise _not_found(uri, str(error)) from None


def _load(mlflow: Any, uri: str, room: Path) -> Path:
    return Path(mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=str(room)))


def _not_found(uri: str, reason: str) -> ArtifactError:
    return ArtifactError(
        uri,
        reason,
        "a model that was registered by `hanyi register`",
        "look at the models in the MLflow UI (`make ui`)",
    )
