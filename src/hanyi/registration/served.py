"""The model as MLflow loads it; MLflow copies this file and runs it beside the bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from hanyi.errors import HanyiError
from hanyi.translator import Translator


class Served(PythonModel):
    """Text in, text out."""

    def load_context(self, context: Any) -> None:
        """Open the bundle that was logged with the model."""
        self.translator = Translator.load(Path(context.artifacts["bundle"]))

    def predict(
        self,
        context: Any,  # noqa: ARG002  MLflow's interface
        model_input: pd.DataFrame,
        params: Mapping[str, Any] | None = None,
    ) -> list[str] | list[list[str]]:
        """Translate each text as `hanyi translate` does.

        The first column holds the texts; MLflow makes a table of a list. `params` may give
        `beam_size` and `n_best`; of more than one translation a list is given for each text, the
        best first. What cannot be done is MLflow's error for a wrong value.
        """
        asked = dict(params or {})
        texts = _texts(model_input)
        config = self.translator.config
        n_best = int(asked.get("n_best", 1))
        if n_best < 1:
            raise MlflowException.invalid_parameter_value(f"n_best {n_best}, expected at least 1")
        try:
            search = replace(
                config,
                beam_size=int(asked.get("beam_size", config.beam_size)),
                n_best=max(n_best, config.n_best),
            )
            results = self.translator.translate(texts, search)
        except (HanyiError, ValueError) as error:
            raise MlflowException.invalid_parameter_value(str(error)) from None
        if n_best == 1:
            return [result.text for result in results]
        return [[one.text for one in result.n_best[:n_best]] for result in results]


def _texts(table: pd.DataFrame) -> list[str]:
    texts: list[Any] = table.iloc[:, 0].tolist()
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise MlflowException.invalid_parameter_value(f"text {place} is {text!r}, no text")
    return texts


set_model(Served())
