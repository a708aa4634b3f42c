"""A version of a model in MLflow's registry, made from a run."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hanyi
from hanyi.card import Facts, Workspace, examples, read_facts, write_card
from hanyi.errors import ArtifactError, ParamsError
from hanyi.export.bundle import bundle_digest, write_bundle
from hanyi.model.storage import read_description
from hanyi.params import PARAMS_FILE
from hanyi.registration.requirements import requirements
from hanyi.registration.rows import find_row, require_row, revision_of, row_by_id
from hanyi.revisions import Revision
from hanyi.tracking.address import plainly, store_address, why
from hanyi.tracking.identity import project_root
from hanyi.tracking.recorder import prepare_mlflow
from hanyi.translator import ModelFolder, find_model, model_at, read_settings

if TYPE_CHECKING:
    from hanyi.tracking.mirror import Store

DIGEST_TAG = "hanyi.model"
"""The tag of a version that holds the digest of all that decides how it translates."""

ARTIFACT = "bundle"
TRIED = 3  # example inputs
DIGITS = "00700"  # an example input in any language
PATIENCE = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "120", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3"}
"""Seconds and tries for a server, unless the user has set them: weights are large."""

QUIET = {"MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}

PLAIN_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class Version:
    """A version in the registry."""

    name: str
    number: str
    new: bool  # False: the same model was there
    row: str | None  # id of the run that it is logged under

    @property
    def uri(self) -> str:
        """Give the address by which MLflow finds it."""
        return f"models:/{self.name}/{self.number}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What shall be registered, and as what."""

    name: str
    revision: str | None  # of git, or a DVC experiment; None: the workspace
    run: str | None  # id in MLflow
    alias: str | None
    license: str | None  # of the model; None: as the data say


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where in MLflow a model goes."""

    root: Path  # of the project
    experiment: str  # id
    run: str | None  # id
    name: str  # in the registry


def register(wish: Wish) -> Version:
    """Put a model into the registry, under the row of its run where there is one.

    The same model under the same name makes no second version; an alias is set all the same. Raises
    `HanyiError` when the model cannot be had or the registry does not take it.
    """
    for what, name in (("name", wish.name), ("--alias", wish.alias)):
        if name is not None and not PLAIN_NAME.fullmatch(name):
            raise ParamsError(what, repr(name), "letters, digits, dots, - and _", "choose another")
    root = project_root()
    if not (root / PARAMS_FILE).is_file():  # before a store is made there
        found, remedy = f"no {PARAMS_FILE}", "run from the project's root"
        raise ParamsError(root, found, "a project with a trained model", remedy)
    for name, value in {**PATIENCE, **QUIET}.items():
        os.environ.setdefault(name, value)
    prepare_mlflow()
    store = _open_store(root)
    client: Any = store.client
    with _told_plainly(root):
        row = row_by_id(client, wish.run) if wish.run else None
        revision = wish.revision or (revision_of(row) if row else None)
        folder, facts = _read(root, revision)
        if row:
            require_row(row, facts, revision or "the workspace")
        row = row or find_row(client, store.experiment, facts)
        with tempfile.TemporaryDirectory() as temporary:
            bundle = Path(temporary) / ARTIFACT
            write_bundle(folder, bundle, write_card(facts, wish.license))
            tags = _tags(facts, revision, bundle_digest(bundle))
            version = _same(client, wish.name, tags[DIGEST_TAG])
            if version is None:
                run = row.info.run_id if row else None
                place = Place(root=root, experiment=store.experiment, run=run, name=wish.name)
                number = _log(bundle, place, tags, examples(facts)[:TRIED] or [DIGITS])
                version = Version(wish.name, number, True, run)
        if wish.alias:
            client.set_registered_model_alias(wish.name, wish.alias, version.number)
    return version


def _read(root: Path, revision: str | None) -> tuple[ModelFolder, Facts]:
    folder = model_at(revision) if revision else find_model(root)
    files = Revision(revision, root) if revision else Workspace(root)
    return folder, read_facts(files, read_description(folder.model))


def _same(client: Any, name: str, digest: str) -> Version | None:
    for found in client.search_model_versions(f"name = '{name}'"):
        if found.tags.get(DIGEST_TAG) == digest:
            return Version(name, str(found.version), False, found.run_id or None)
    return None


def _tags(facts: Facts, revision: str | None, digest: str) -> dict[str, str]:
    tags = {
        DIGEST_TAG: digest,
        "git.revision": facts.revision,
        "git.dirty": str(facts.changed).lower(),
        "dvc.revision": revision or "",
        "languages": " to ".join(facts.languages or ()),
    }
    score = facts.metrics.get("score", {})
    tags |= {name: f"{score[name]['score']:.2f}" for name in ("bleu", "chrf") if name in score}
    return {name: value for name, value in tags.items() if value}


def _description(tags: Mapping[str, str]) -> str:
    measured = ", ".join(f"{name} {tags[name]}" for name in ("bleu", "chrf") if name in tags)
    return (
        f"Translates {tags.get('languages', 'text')}"
        + (f"; on its test split {measured}" if measured else "; not scored")
        + f". The card is artifacts/{ARTIFACT}/README.md."
    )


def _log(bundle: Path, place: Place, tags: Mapping[str, str], inputs: Sequence[str]) -> str:
    """Log the pyfunc and make the version; give its number."""
    import mlflow
    from mlflow.models import Model
    from mlflow.tracking import MlflowClient

    mlflow.set_tracking_uri(store_address(place.root))
    mlflow.set_experiment(experiment_id=place.experiment)
    logged = Model.log(
        artifact_path=None,
        name="model",
        flavor=mlflow.pyfunc,
        run_id=place.run,
        tags=dict(tags),
        python_model=str(Path(__file__).with_name("served.py")),
        artifacts={ARTIFACT: str(bundle)},
        code_paths=[str(Path(hanyi.__file__).parent)],
        signature=_signature(bundle),
        input_example=list(inputs),
        pip_requirements=requirements(),
        metadata={DIGEST_TAG: tags[DIGEST_TAG]},
    )
    client = MlflowClient()
    if not client.search_registered_models(f"name = '{place.name}'"):
        client.create_registered_model(place.name)
    made = client.create_model_version(
        place.name,
        source=logged.model_uri,
        run_id=place.run,
        tags=dict(tags),
        description=_description(tags),
        model_id=logged.model_id,
    )
    return str(made.version)


def _signature(bundle: Path) -> Any:
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema

    params = bundle / "params.yaml"
    config = read_settings(params if params.exists() else None).config
    text = Schema([ColSpec(DataType.string)])
    numbers = {"beam_size": config.beam_size, "n_best": 1}
    return ModelSignature(
        text,
        text,
        ParamSchema([ParamSpec(name, DataType.long, value) for name, value in numbers.items()]),
    )


def _open_store(root: Path) -> Store:
    from hanyi.tracking.mirror import Store

    try:
        return Store(root)
    except Exception as error:  # the store may be anything that MLflow supports
        found = why(store_address(root), error)
        expected, remedy = "an MLflow store that answers", "start it or mend MLFLOW_TRACKING_URI"
        raise ArtifactError("MLflow", found, expected, remedy) from error


@contextmanager
def _told_plainly(root: Path) -> Iterator[None]:
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        found = plainly(f"{store_address(root)}: {error}")
        remedy = "see that the store can be reached and written"
        raise ArtifactError("MLflow", found, "a registry that takes the model", remedy) from None
