"""MLflow's side of the mirror: the store, one run for each experiment, batches of what is new."""

from __future__ import annotations

import math
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
from hanyi.tracking.address import SQLITE, is_remote, require_writable, store_address
from hanyi.tracking.identity import Identity
from hanyi.tracking.wiring import LOCK_TAG

__all__ = ["EXPERIMENT", "NAME_TAG", "PARAMS_TAG", "SQLITE", "Mirror", "Store", "store_address"]

EXPERIMENT = "hanyi"
KEY_TAG = "hanyi.key"
NAME_TAG = "dvc.experiment"
BASELINE_TAG = "dvc.baseline"
PARAMS_TAG = "params.digest"
KIND = {"mlflow.experimentKind": "custom_model_development"}  # the page shows runs, no chats
OPENING = 60.0  # seconds that others may take to make a fresh database
BROKEN_OFF = ("KILLED", "FAILED")

# A training that goes on passes some updates again, at another speed: the first is kept.
TIMED = ("tokens_per_second",)

# MLflow's limits for one call and for one value.
BATCH_PARAMS = 100
BATCH_METRICS = 800
LONGEST_VALUE = 5000

Item = TypeVar("Item")
Point = tuple[str, float, int, int]  # name, value, step, milliseconds since 1970


class Store:
    """The project's MLflow store with its one experiment, made when it is not there."""

    def __init__(self, root: Path, address: str | None = None) -> None:
        address = address or store_address(root)
        (root / ".hanyi").mkdir(exist_ok=True)
        # Two processes that open a fresh database at once both try to create its tables.
        with FileLock(root / ".hanyi" / "mlflow.lock", timeout=OPENING):
            require_writable(address)
            self.client = MlflowClient(address)
            self.experiment = self._open_experiment(address, root)

    def run(
        self, identity: Identity, params: Mapping[str, Any], begun: int | None = None
    ) -> Mirror:
        """Give the experiment's run, which is made and described when it is not there.

        One that was broken off, with the same parameters from the same revision, is gone on with
        under a new name: DVC gives an experiment that is run again another one.
        """
        found = self.find(_tagged(KEY_TAG, identity.key)) or self._broken_off(identity)
        tags = {KEY_TAG: identity.key}
        run = found or self.client.create_run(
            self.experiment, start_time=begun, tags=tags, run_name=identity.name
        )
        mirror = Mirror(self.client, run)
        if found and found.data.tags.get(KEY_TAG) != identity.key:
            self.client.update_run(run.info.run_id, name=identity.name)
            mirror.tags(tags)
        mirror.params(params)
        mirror.tags(_identity_tags(identity))
        return mirror

    def find(self, wanted: str) -> Any | None:
        """Give the newest run for which a filter of MLflow holds."""
        found = self.client.search_runs(
            [self.experiment], wanted, max_results=1, order_by=["attributes.start_time DESC"]
        )
        return found[0] if found else None

    def row_of(self, identity: Identity, lock: str) -> Any | None:
        """Give the run that stands for these parameters and, of its `dvc.lock`, this digest.

        One with a name has its own, for each baseline; what a revision or the workspace holds may
        have been made under any name.
        """
        found = self.find(_tagged(KEY_TAG, identity.key))
        if found or identity.experiment:
            return found
        same = _tagged(PARAMS_TAG, identity.params)
        if lock and (found := self.find(f"{same} and {_tagged(LOCK_TAG, lock)}")):
            return found
        found = self.find(f"{same} and attributes.status = 'FINISHED'")
        return None if found is None or LOCK_TAG in found.data.tags else found

    def _broken_off(self, identity: Identity) -> Any | None:
        same = (
            f"{_tagged(PARAMS_TAG, identity.params)} and {_tagged(BASELINE_TAG, identity.baseline)}"
        )
        found = [self.find(f"{same} and attributes.status = '{status}'") for status in BROKEN_OFF]
        known = [run for run in found if run is not None]
        return max(known, key=lambda run: run.info.start_time, default=None)

    def _open_experiment(self, address: str, root: Path) -> str:
        found = self.client.get_experiment_by_name(EXPERIMENT)
        if found is None:
            place = None if is_remote(address) else (root / "mlartifacts").as_uri()
            try:
                return str(
                    self.client.create_experiment(EXPERIMENT, artifact_location=place, tags=KIND)
                )
            except MlflowException:  # another machine was quicker
                found = self.client.get_experiment_by_name(EXPERIMENT)
                if found is None:
                    raise
        return str(found.experiment_id)


class Mirror:
    """One run of the store; it writes what is new, and counts it."""

    def __init__(self, client: MlflowClient, run: Any) -> None:
        self._client = client
        self.id = str(run.info.run_id)
        self.status = str(run.info.status)
        self.written = 0  # metrics, parameters, tags and files that were not there
        self._params: dict[str, str] = dict(run.data.params)
        self._tags: dict[str, str] = dict(run.data.tags)
        self._known = set(run.data.metrics)
        self._points: dict[str, dict[int, float]] = {}
        self._files: dict[str, dict[str, int]] = {}

    def params(self, params: Mapping[str, Any]) -> None:
        """Log parameters that are not there yet."""
        texts = {_key(name): str(value)[:LONGEST_VALUE] for name, value in params.items()}
        fresh = [Param(key, text) for key, text in texts.items() if key not in self._params]
        for batch in _batches(fresh, BATCH_PARAMS):
            self._client.log_batch(self.id, params=batch)
        self._params |= texts
        self.written += len(fresh)

    def metrics(self, points: Sequence[Point]) -> None:
        """Log points that are not there yet.

        A stage that is run or resumed again repeats points of its own; they would show twice.
        """
        fresh = []
        for name, value, step, moment in points:
            key = _key(name)
            if self._is_new(key, value, step):
                fresh.append(Metric(key, value, moment, step))
        self._log(fresh)

    def curve(self, points: Sequence[Point]) -> None:
        """Log points of the steps at which there is none yet."""
        names = {name for name, *_ in points}
        steps = {name: set(self._history(_key(name))) for name in names}
        self._log(
            [
                Metric(_key(name), value, moment, step)
                for name, value, step, moment in points
                if step not in steps[name]
            ]
        )

    def stage(self, name: str, values: Mapping[str, Any], moment: int) -> None:
        """Log a stage's nested metrics: numbers as `<stage>/<name>`, texts as tags of that name."""
        numbers, texts = numbers_and_texts(values)
        self.metrics([(f"{name}/{key}", number, 0, moment) for key, number in numbers.items()])
        self.tags({f"{name}/{key}": text for key, text in texts.items()})

    def tags(self, tags: Mapping[str, str]) -> None:
        """Set tags of the run."""
        texts = {_key(name): value[:LONGEST_VALUE] for name, value in tags.items()}
        fresh = {key: text for key, text in texts.items() if self._tags.get(key) != text}
        for batch in _batches([RunTag(*pair) for pair in fresh.items()], BATCH_PARAMS):
            self._client.log_batch(self.id, tags=batch)
        self._tags |= fresh
        self.written += len(fresh)

    def tag(self, name: str) -> str:
        """Give a tag of the run, or nothing."""
        return self._tags.get(name, "")

    def artifact(self, path: Path, folder: str) -> None:
        """Copy a file into the run's artifacts."""
        self._client.log_artifact(self.id, str(path), folder or None)
        self.written += 1
        self._files.get(folder, {})[path.name] = path.stat().st_size

    def missing_artifact(self, path: Path, folder: str) -> None:
        """Copy a file into the run's artifacts unless one of its name and size is there."""
        if folder not in self._files:
            listed = self._client.list_artifacts(self.id, folder)
            self._files[folder] = {Path(item.path).name: item.file_size or 0 for item in listed}
        if self._files[folder].get(path.name) != path.stat().st_size:
            self.artifact(path, folder)

    def text(self, text: str, name: str) -> None:
        """Write a text into the run's artifacts."""
        self._client.log_text(self.id, text, name)
        self.written += 1

    def begin(self) -> None:
        """Set the state of the run to RUNNING."""
        if self.status != "RUNNING":
            self._client.update_run(self.id, status="RUNNING")
            self.status = "RUNNING"

    def finish(self, status: str, moment: int) -> None:
        """Set the state of the run: FINISHED, FAILED or KILLED."""
        self._client.set_terminated(self.id, status, moment)
        self.status = status

    def _log(self, fresh: Sequence[Metric]) -> None:
        for batch in _batches(fresh, BATCH_METRICS):
            self._client.log_batch(self.id, metrics=batch)
        for metric in fresh:
            self._known.add(metric.key)
            self._points.setdefault(metric.key, {})[metric.step] = metric.value
        self.written += len(fresh)

    def _is_new(self, key: str, value: float, step: int) -> bool:
        there = self._history(key).get(step)
        if there is None:
            return True
        return not (_same(there, value) or key.rpartition("/")[2] in TIMED)

    def _history(self, key: str) -> dict[int, float]:
        if key not in self._known:
            return {}
        if key not in self._points:
            history = self._client.get_metric_history(self.id, key)
            history.sort(key=lambda point: point.timestamp)
            self._points[key] = {point.step: point.value for point in history}
        return self._points[key]


def numbers_and_texts(values: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, str]]:
    """Split nested metrics into flat numbers and, for signatures and the like, flat texts."""
    numbers: dict[str, float] = {}
    texts: dict[str, str] = {}
    for name, value in flatten(values).items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            numbers[name] = float(value)
        elif value not in (None, {}):
            texts[name] = str(value)
    return numbers, texts


def _tagged(name: str, value: str) -> str:
    """Give the filter of MLflow for a tag; git allows an apostrophe in a name."""
    quote = '"' if "'" in value else "'"
    return f"tags.`{name}` = {quote}{value}{quote}"


def _identity_tags(identity: Identity) -> dict[str, str]:
    tags = {
        "mlflow.source.git.commit": identity.baseline,
        "git.revision": identity.baseline,
        "git.branch": identity.branch,
        "git.dirty": str(identity.dirty).lower(),
        BASELINE_TAG: identity.baseline,
        NAME_TAG: identity.experiment,
        PARAMS_TAG: identity.params,
    }
    return {name: value for name, value in tags.items() if value}


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _key(name: str) -> str:
    # MLflow takes letters of any script, but not every sign, and no name that is another path.
    parts = re.sub(r"[^\w.\- :/]", "_", name).split("/")
    return "/".join(part for part in parts if part not in {"", ".", ".."})[:250]


def _batches(items: Sequence[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
