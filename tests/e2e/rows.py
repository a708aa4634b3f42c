"""Rows of an MLflow store beside the records of `dvc exp show`, number by number."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock
from mlflow import MlflowClient
from mlflow.entities import Run

from hanyi.params import flatten
from tests.e2e.workspace import Workspace

TAG = "dvc.experiment"


class Rows:
    """The rows of a store, found by the names of DVC's experiments."""

    def __init__(self, address: str) -> None:
        self.client = MlflowClient(address)

    @classmethod
    def of_project(cls, workspace: Workspace) -> Rows:
        """Open the project's own store, which a stage may be making at this moment."""
        (workspace.path / ".hanyi").mkdir(exist_ok=True)
        with FileLock(workspace.path / ".hanyi/mlflow.lock"):
            return cls(f"sqlite:///{workspace.path}/mlflow.db")

    def all(self) -> list[Run]:
        """Give every row."""
        known = [experiment.experiment_id for experiment in self.client.search_experiments()]
        return list(self.client.search_runs(known))

    def names(self) -> list[str]:
        """Give the experiment of each row, sorted; an experiment with two rows stands twice."""
        return sorted(row.data.tags.get(TAG, "") for row in self.all())

    def of(self, name: str) -> Run:
        """Give the one row of an experiment."""
        found = [row for row in self.all() if row.data.tags.get(TAG) == name]
        assert len(found) == 1, f"{name}: {len(found)} rows"
        return found[0]

    def waited(self, name: str, right: Callable[[Run], bool], seconds: float = 60.0) -> Run:
        """Give the one row of an experiment once it is as it shall be; the last bits come late."""
        end = time.monotonic() + seconds
        while not right(row := self.of(name)):
            assert time.monotonic() < end, f"{name}: {row.info.status} {row.data.tags}"
            time.sleep(0.5)
        return row

    def files(self, row: Run, folder: str = "") -> set[str]:
        """Give the paths of the artifacts of a row."""
        found = set()
        for entry in self.client.list_artifacts(row.info.run_id, folder or None):
            found |= self.files(row, entry.path) if entry.is_dir else {entry.path}
        return found


def experiments(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """Give what `dvc exp show` says of each experiment, by name."""
    shown = json.loads(workspace.dvc("exp", "show", "--json").out)
    listed = [one for state in shown for one in state.get("experiments") or []]
    return {one["name"]: one for one in listed}


def data(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parameters, metrics and outputs of a record of `dvc exp show`."""
    return dict(experiment["revs"][0]["data"])


def params(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """Give the flat parameters of a record of `dvc exp show`."""
    return flatten(data(experiment)["params"]["params.yaml"]["data"])


def numbers(experiment: Mapping[str, Any]) -> dict[str, float]:
    """Give the metrics of a record of `dvc exp show`, named as in MLflow."""
    return {
        f"{Path(path).stem}/{name}": value
        for path, file in data(experiment)["metrics"].items()
        for name, value in flatten(file["data"]).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
