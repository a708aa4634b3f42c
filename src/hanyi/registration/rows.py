"""The row of a run in MLflow: found for a model, and from it the model."""

from __future__ import annotations

from typing import Any

from hanyi.card import Facts
from hanyi.errors import ParamsError
from hanyi.params import flatten
from hanyi.tracking.identity import params_digest

TRANSFORMER = "models/transformer"

MODEL_TAG = f"dvc.{TRANSFORMER}"
"""The tag of a row that holds DVC's digest of its model."""


def find_row(client: Any, experiment: str, facts: Facts) -> Any | None:
    """Find the newest row of the run that made the model, None if it has no row.

    Runs that differ in how they translate share a model, so its digest and the parameters are
    looked for together, then each alone: a row may lack the one, the others may have changed since.
    """
    tags = _tags(facts)
    for names in (list(tags), *([name] for name in tags)):
        wanted = " and ".join(f"tags.`{name}` = '{tags[name]}'" for name in names)
        for row in client.search_runs([experiment], wanted):
            if row.data.tags.get(MODEL_TAG, tags.get(MODEL_TAG)) == tags.get(MODEL_TAG):
                return row
    return None


def row_by_id(client: Any, run: str) -> Any:
    """Give the row of an id; raise `ParamsError` when there is none."""
    from mlflow.exceptions import MlflowException

    try:
        return client.get_run(run)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        raise ParamsError(
            "--run", f"{run}, no run of the store", "the id of one", "copy it from `make ui`"
        ) from None


def require_row(row: Any, facts: Facts, source: str) -> None:
    """Raise `ParamsError` unless the row is of the run that made the model."""
    held = row.data.tags
    if any(held.get(name, value) != value for name, value in _tags(facts).items()):
        raise ParamsError(
            "--run",
            f"{row.info.run_id}, a run of another model than {source} holds",
            "a run whose model is here",
            "give --rev, the revision or experiment that holds its dvc.lock",
        )


def _tags(facts: Facts) -> dict[str, str]:
    """Give what a row of the run is tagged with."""
    from hanyi.tracking.mirror import PARAMS_TAG

    models = [one.md5 for one in facts.outputs if one.path == TRANSFORMER]
    tags = {MODEL_TAG: models[0]} if models else {}
    return {**tags, PARAMS_TAG: params_digest(flatten(facts.params))}


def revision_of(row: Any) -> str | None:
    """Give the experiment that a row is of, by name; None: a plain `dvc repro`."""
    from hanyi.tracking.mirror import NAME_TAG

    return row.data.tags.get(NAME_TAG) or None
