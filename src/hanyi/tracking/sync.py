"""Rows for what DVC gave back from its cache: `python -m hanyi.tracking.sync`.

An experiment whose stages are all cached runs nothing, so nothing logs. This command adds a row for
each experiment that DVC knows and the store lacks, from DVC's own records. `make ui` runs it first.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hanyi.params import PARAMS_FILE, flatten
from hanyi.tracking.identity import Identity, params_digest, project_root
from hanyi.tracking.recorder import prepare_mlflow

COMMITS = "5"  # newest revisions whose experiments are looked at


def main() -> None:
    """Add the missing rows; a fault is a warning, since the rows that are there can be shown."""
    prepare_mlflow()
    import hanyi.tracking.mirror  # noqa: F401 - a broken MLflow keeps its traceback

    try:
        added = sync(json.loads(_records()))
    except Exception as error:  # noqa: BLE001 - the store may be anything that MLflow supports
        sys.stderr.write(f"sync: warning: {' '.join(str(error).split())[:300]}\n")
        return
    for name in added:
        sys.stderr.write(f"sync: added {name}\n")


def sync(records: list[dict[str, Any]]) -> list[str]:
    """Add a row for each record of `dvc exp show --json` that the store lacks; list their names."""
    from hanyi.tracking.mirror import Store

    store = Store(project_root())
    added = []
    for identity, data in _experiments(records):
        if store.has(identity):
            continue
        mirror = store.run(identity, _params(data))
        moment = int(time.time() * 1000)
        for path, entry in (data.get("metrics") or {}).items():
            mirror.stage(Path(path).stem, entry.get("data") or {}, moment)
        mirror.finish("FINISHED")
        added.append(identity.name)
    return added


def _experiments(records: list[dict[str, Any]]) -> Iterator[tuple[Identity, Mapping[str, Any]]]:
    for record in records:
        if record["rev"] == "workspace":
            continue
        yield from _identified(record["rev"], "", record)
        for experiment in record.get("experiments") or []:
            for revision in (experiment.get("revs") or [])[:1]:
                yield from _identified(record["rev"], experiment["name"] or "", revision)


def _identified(
    baseline: str, name: str, record: Mapping[str, Any]
) -> Iterator[tuple[Identity, Mapping[str, Any]]]:
    data = record.get("data") or {}
    if not (data.get("metrics") and _params(data)):  # it failed, or waits in the queue
        return
    digest = params_digest(_params(data))
    identity = Identity(baseline=baseline, experiment=name, params=digest, branch="", dirty=False)
    yield identity, data


def _params(data: Mapping[str, Any]) -> dict[str, Any]:
    entry = (data.get("params") or {}).get(str(PARAMS_FILE)) or {}
    return flatten(entry.get("data") or {})


def _records() -> str:
    command = [sys.executable, "-m", "dvc", "exp", "show", "--json", "--num", COMMITS]
    try:
        done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    except subprocess.CalledProcessError as error:
        raise RuntimeError(error.stderr) from error
    return done.stdout


if __name__ == "__main__":
    main()
