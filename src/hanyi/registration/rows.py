"""The row of a run in MLflow: found for a model, and from it the model."""

from __future__ import annotations

from typing import Any

from hanyi.card import Facts
from hanyi.errors import ParamsError
from hanyi.params import flatten
from hanyi.tracking.identity import params_digest

TRANSFORMER = "models/transformer"


def model_md5(facts: Facts) -> str | None:
    """Give DVC's digest of the model, None where dvc.lock has none."""
    found = (one.md5 for one in facts.outputs if one.path == TRANSFORMER)
    return next(found, None)


def find_row(client: Any, experiment: str, facts: Facts) -> Any | None:
    """Find the newest row of the run that made the model, None if it has no row.

    A row that names the model's digest is preferred to one of the same parameters.
    """
    from hanyi.tracking.mirror import PARAMS_TAG

    wanted = [(PARAMS_TAG, params_digest(flatten(facts.params)))]
    if md5 := model_md5(facts):
        wanted.insert(0, (MODEL_TAG, md5))
    for tag, value in wanted:
        rows = client.search_runs([experiment], f"tags.`{tag}` = '{value}'", max_results=1)
        if rows:
            return rows[0]
    return None


MODEL_TAG = f"dvc.{TRANSFORMER}"
"""The tag of a row that holds DVC's digest of its model."""


def require_row(row: Any, facts: Facts, source: str) -> None:
    """Raise `ParamsError` unless the row is of the run that made the model."""
    from hanyi.tracking.mirror import PARAMS_TAG

    tags = row.data.tags
    held = {MODEL_TAG: model_md5(facts), PARAMS_TAG: params_digest(flatten(facts.params))}
    name = MODEL_TAG if MODEL_TAG in tags else PARAMS_TAG
    if tags.get(name) != held[name]:
        raise ParamsError(
            "--run",
            f"{row.info.run_id}, a run of another model than {source} holds",
            "a run whose model is here",
            "give --rev, the revision or experiment that holds its dvc.lock",
        )


def revision_of(row: Any) -> str | None:
    """Give the experiment that a row is of, by name; None: a plain `dvc repro`."""
    from hanyi.tracking.mirror import NAME_TAG

    return row.data.tags.get(NAME_TAG) or None
