"""The weights of corpora, as `prepare` hands them on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hanyi.artifacts import read_header
from hanyi.errors import ArtifactError, DataError

LIST = "corpora.json"
KIND, VERSION = "hanyi.prepared", 1


def read_weights(prepared: Path, corpora: Sequence[str]) -> dict[str, float]:
    """Give how often the rows of each corpus occur in an epoch; 1 where `prepared` has no list.

    Raises `ArtifactError` for a list that cannot be read, `DataError` for one without a corpus.
    """
    path = prepared / LIST
    if not path.exists():
        return dict.fromkeys(corpora, 1.0)
    fields = read_header(path, KIND, VERSION)
    try:
        weights = {str(entry["name"]): _weight(entry["weight"]) for entry in fields["corpora"]}
    except (KeyError, TypeError, ValueError) as error:
        expected = "a name and a weight, at least 0, for each corpus"
        raise ArtifactError(
            path, f"no usable {error}", expected, "run `dvc repro prepare`"
        ) from None
    if missing := [name for name in corpora if name not in weights]:
        raise DataError(
            path,
            f"no weight of {', '.join(missing)}",
            "one for each corpus of the rows",
            "add it, or remove the file: all weights are 1 then",
        )
    return {name: weights[name] for name in corpora}


def _weight(value: Any) -> float:
    weight = float(value)
    if not (math.isfinite(weight) and weight >= 0):
        raise ValueError(f"weight {value}")
    return weight
