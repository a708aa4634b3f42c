"""MLflow's side of the mirror: the store, one run for each experiment, batches of what is new."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from hanyi.params import flatten
from hanyi.tracking.identity import Identity

EXPERIMENT = "hanyi"
KEY_TAG = "hanyi.key"
NAME_TAG = "dvc.experiment"
PARAMS_TAG = "params.digest"
SQLITE = "sqlite:///"
OPENING = 60.0  # seconds that others may take to make a fresh database

# MLflow's limits for one call and for one value.
BATCH_PARAMS = 100
BATCH_METRICS = 800
LONGEST_VALUE = 5000

Item = TypeVar("Item")


class Store:
    """The project's MLflow store with its one experiment, made when it is not there."""

    def __init__(self, root: Path) -> None:
        address = store_address(root)
        (root / ".hanyi").mkdir(exist_ok=True)
        # Two processes that open a fresh database at once both try to create its tables.
        with FileLock(root / ".hanyi" / "mlflow.lock", timeout=OPENING):
            self.client = MlflowClient(address)
            self._experiment = self._open_experiment(address, root)

    def run(self, identity: Identity, params: Mapping[str, Any]) -> Mirror:
        """Give the experiment's run, which is made and described when it is not there."""
        found = self._search(f"tags.`{KEY_TAG}` = '{identity.key}'")
        if found:
            self.client.update_run(found[0].info.run_id, status="RUNNING")
            run = found[0]
        else:
            tags = {KEY_TAG: identity.key}
            run = self.client.create_run(self._experiment, tags=tags, run_name=identity.name)
        return Mirror(self.client, run, identity, params)

    def has(self, identity: Identity) -> bool:
        """Say whether the parameters have a row, under this name if they are a named experiment."""
        wanted = f"tags.`{PARAMS_TAG}` = '{identity.params}'"
        if identity.experiment:
            wanted += f" and tags.`{NAME_TAG}` = '{identity.experiment}'"
        return bool(self._search(wanted))

    def _search(self, wanted: str) -> list[Any]:
        return list(self.client.search_runs([self._experiment], wanted, max_results=1))

    def _open_experiment(self, address: str, root: Path) -> str:
        found = self.client.get_experiment_by_name(EXPERIMENT)
        if found is None:
            local = not address.startswith(("http:", "https:", "databricks"))
            place = (root / "mlartifacts").as_uri() if local else None
            try:
                return str(self.client.create_experiment(EXPERIMENT, artifact_location=place))
            except MlflowException:  # another machine was quicker
                found = self.client.get_experiment_by_name(EXPERIMENT)
                if found is None:
                    raise
        return str(found.experiment_id)


class Mirror:
    """One run of the store; it writes what is new."""

    def __init__(
        self, client: MlflowClient, run: Any, identity: Identity, params: Mapping[str, Any]
    ) -> None:
        self._client = client
        self._id = str(run.info.run_id)
        self._params: dict[str, str] = dict(run.data.params)
        self._known = set(run.data.metrics)
        self._points: dict[str, dict[int, float]] = {}
        self._describe(identity, params)

    def metrics(self, points: Sequence[tuple[str, float, int, int]]) -> None:
        """Log points of (name, value, step, milliseconds since 1970) that are not there yet.

        A stage that is run or resumed again repeats points of its own; they would show twice.
        """
        fresh = []
        for name, value, step, moment in points:
            key = _key(name)
            if self._is_new(key, value, step):
                fresh.append(Metric(key, value, moment, step))
        for batch in _batches(fresh, BATCH_METRICS):
            self._client.log_batch(self._id, metrics=batch)

    def stage(self, name: str, values: Mapping[str, Any], moment: int) -> None:
        """Log a stage's nested metrics: numbers as `<stage>/<name>`, texts as tags of that name."""
        numbers, texts = numbers_and_texts(values)
        self.metrics([(f"{name}/{key}", number, 0, moment) for key, number in numbers.items()])
        self.tags({f"{name}/{key}": text for key, text in texts.items()})

    def tags(self, tags: Mapping[str, str]) -> None:
        """Set tags of the run."""
        pairs = [RunTag(_key(name), value[:LONGEST_VALUE]) for name, value in tags.items()]
        for batch in _batches(pairs, BATCH_PARAMS):
            self._client.log_batch(self._id, tags=batch)

    def artifact(self, path: Path, folder: str) -> None:
        """Copy a file into the run's artifacts."""
        self._client.log_artifact(self._id, str(path), folder or None)

    def text(self, text: str, name: str) -> None:
        """Write a text into the run's artifacts."""
        self._client.log_text(self._id, text, name)

    def finish(self, status: str) -> None:
        """Set the state of the run: FINISHED, FAILED or KILLED."""
        self._client.set_terminated(self._id, status)

    def _describe(self, identity: Identity, params: Mapping[str, Any]) -> None:
        texts = {_key(name): str(value)[:LONGEST_VALUE] for name, value in params.items()}
        fresh = [Param(key, text) for key, text in texts.items() if key not in self._params]
        for batch in _batches(fresh, BATCH_PARAMS):
            self._client.log_batch(self._id, params=batch)
        tags = {
            "mlflow.source.git.commit": identity.baseline,
            "git.revision": identity.baseline,
            "git.branch": identity.branch,
            "git.dirty": str(identity.dirty).lower(),
            NAME_TAG: identity.experiment,
            PARAMS_TAG: identity.params,
            "host": platform.node(),
        }
        self.tags({name: value for name, value in tags.items() if value})

    def _is_new(self, key: str, value: float, step: int) -> bool:
        if key not in self._known:
            return True
        if key not in self._points:
            history = self._client.get_metric_history(self._id, key)
            history.sort(key=lambda point: point.timestamp)
            self._points[key] = {point.step: point.value for point in history}
        return self._points[key].get(step) != value


def store_address(root: Path) -> str:
    """Give the store's address: MLFLOW_TRACKING_URI, or a database in the project's root.

    A relative database file counts from the root, not from where a stage happens to run.
    """
    address = os.environ.get("MLFLOW_TRACKING_URI") or f"{SQLITE}mlflow.db"
    file = address.removeprefix(SQLITE)
    if file == address or not file or file.startswith(("/", ":")):
        return address
    return f"{SQLITE}{root / file}"


def numbers_and_texts(values: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, str]]:
    """Split nested metrics into flat numbers and, for signatures and the like, flat texts."""
    numbers: dict[str, float] = {}
    texts: dict[str, str] = {}
    for name, value in flatten(values).items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            numbers[name] = float(value)
        elif value is not None:
            texts[name] = str(value)
    return numbers, texts


def _key(name: str) -> str:
    # MLflow takes letters of any script, but not every sign, and no name that is another path.
    parts = re.sub(r"[^\w.\- :/]", "_", name).split("/")
    return "/".join(part for part in parts if part not in {"", ".", ".."})[:250]


def _batches(items: Sequence[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
