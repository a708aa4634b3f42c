"""Rows for what no recorder could write: `hanyi publish`.

It moves the journals that the store did not take into it, then adds what is missing of each run
that DVC knows: an experiment whose stages all came from the cache runs nothing, so nothing logs.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hanyi.errors import ArtifactError, HanyiError
from hanyi.params import PARAMS_FILE, flatten
from hanyi.revisions import Revision, ask_dvc, file_at
from hanyi.tracking.address import store_address, why
from hanyi.tracking.identity import Identity, params_digest, read_identity
from hanyi.tracking.journal import now, open_journals
from hanyi.tracking.mirror import Mirror, Store
from hanyi.tracking.results import METRICS, complete
from hanyi.tracking.tracker import recorder_runs
from hanyi.tracking.transfer import Rows, Transfer
from hanyi.tracking.wiring import (
    LOCK,
    LOCK_TAG,
    WIRING,
    agrees,
    lock_digest,
    output_tags,
    read_lock,
    read_wiring,
)

REVISIONS = "5"  # newest commits whose experiments are looked at
PATIENCE = 60.0  # seconds for a recorder that is still at work
COMPLETE_TAG = "hanyi.complete"  # the dvc.lock for which nothing is missing
WORKSPACE = "workspace"
DVC = Path(".dvc")
ENDED_WELL = (None, "success")  # states of an experiment, as `dvc exp show` tells them


@dataclass(frozen=True)
class Known:
    """A state of which DVC knows that it was built."""

    identity: Identity
    params: Mapping[str, Any]
    lock: bytes
    revision: str  # git's name of it; empty: the workspace

    @property
    def name(self) -> str:
        """Give what a person calls it."""
        if self.identity.experiment:
            return self.identity.experiment
        return self.revision[:7] or "the workspace"


def publish(root: Path) -> Iterator[str]:
    """Add what is missing in the store; yield a line for each thing that was done or cannot be.

    Raises `HanyiError` when the store or DVC cannot be asked.
    """
    if not (root / PARAMS_FILE).exists():
        expected, remedy = f"a project with {PARAMS_FILE}", "run it from the project's root"
        raise ArtifactError(root, "no project", expected, remedy)
    _await_recorder(root)
    address = store_address(root)
    try:
        store = Store(root, address)
        yield from _publish_journals(root, store)
        for known in built(root):
            yield from _publish_known(known, root, store)
    except HanyiError:
        raise
    except Exception as error:  # the store may be anything that MLflow supports
        remedy = "start it or mend MLFLOW_TRACKING_URI, then `hanyi publish` again"
        expected = "an MLflow store that answers"
        raise ArtifactError("MLflow", why(address, error), expected, remedy) from error


def _await_recorder(root: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while recorder_runs(root) and time.monotonic() < deadline:
        journals, _ = open_journals(root)
        if any(journal.in_use() for journal in journals):
            return  # a stage runs: the recorder sees to it
        time.sleep(0.1)


def _publish_journals(root: Path, store: Store) -> Iterator[str]:
    journals, errors = open_journals(root)
    for error in errors:
        yield str(error)
    rows = Rows(store)
    beside = recorder_runs(root)
    for journal in journals:
        if journal.in_use() or (beside and not journal.fault()):
            continue
        try:
            transfer = Transfer(journal, rows)
        except HanyiError as error:  # parameters that no stage could read
            yield f"{journal.stage}: no row, {error}"
        else:
            transfer.write(journal.messages())
            yield f"{transfer.identity.name}: {journal.stage}, which the store had not taken"
        journal.remove()


def _publish_known(known: Known, root: Path, store: Store) -> Iterator[str]:
    digest = lock_digest(known.lock)
    run = store.row_of(known.identity, digest)
    if run is not None and run.data.tags.get(COMPLETE_TAG) == digest:
        return
    new = run is None
    mirror = store.run(known.identity, known.params) if run is None else Mirror(store.client, run)
    tags = {LOCK_TAG: digest, **output_tags(known.lock)}
    before = mirror.written
    missing: list[str] = []
    if known.revision:
        with tempfile.TemporaryDirectory() as folder:
            missing = _check_out(known.revision, root, Path(folder))
            complete(mirror, Path(folder), read_wiring(Path(folder)), now())
    else:
        complete(mirror, root, read_wiring(root), now())
    written = mirror.written - before
    mirror.params(known.params)
    mirror.tags(tags)
    if mirror.status != "FINISHED":
        mirror.finish("FINISHED", now())
    if missing:
        yield f"{known.name}: not in DVC's cache: {', '.join(missing)}; `dvc fetch` may bring it"
    else:
        mirror.tags({COMPLETE_TAG: digest})
    if new or written:
        done = "added" if new else "completed"
        yield f"{known.name}: {done}, {written} metrics, points, texts and files"


def built(root: Path) -> Iterator[Known]:
    """List what DVC knows as built: experiments, then revisions, then the workspace."""
    if not (root / DVC).exists():
        return
    records = json.loads(ask_dvc("exp", "show", "--json", "--num", REVISIONS, root=root))
    revisions = [record for record in records if record["rev"] != WORKSPACE]
    for record in revisions:
        for experiment in record.get("experiments") or []:
            # One that waits, runs or has failed shows the metrics that it began with.
            if (experiment.get("executor") or {}).get("state") not in ENDED_WELL:
                continue
            for revision in (experiment.get("revs") or [])[:1]:
                yield from _known(record["rev"], experiment["name"] or "", revision, root)
    for record in revisions:
        yield from _known(record["rev"], "", record, root)
    # What was built with other parameters or inputs than those that are there now has no row.
    if read_lock(root) and json.loads(ask_dvc("status", "--json", root=root)) == {}:
        identity, params = read_identity(root / PARAMS_FILE)
        yield Known(replace(identity, experiment=""), params, read_lock(root), "")


def _known(baseline: str, name: str, record: Mapping[str, Any], root: Path) -> Iterator[Known]:
    data = record.get("data") or {}
    params = ((data.get("params") or {}).get(str(PARAMS_FILE)) or {}).get("data") or {}
    lock = file_at(record["rev"], LOCK, root)
    if not (data.get("metrics") and params and lock):  # it failed, or waits in the queue
        return
    if not agrees(lock, params):  # committed, but never built with these parameters
        return
    flat = flatten(params)
    digest = params_digest(flat)
    identity = Identity(baseline=baseline, experiment=name, params=digest, branch="", dirty=False)
    yield Known(identity, flat, lock, record["rev"])


def _check_out(revision: str, root: Path, folder: Path) -> list[str]:
    """Copy what rows are made of from a revision into a folder; give what is nowhere."""
    (folder / WIRING).write_bytes(file_at(revision, WIRING, root))
    (folder / METRICS).mkdir()
    files = Revision(revision, root)
    names = [f"{METRICS}/{stage}{end}" for stage in read_wiring(folder) for end in (".json", "")]
    return [name for name in names if files.knows(name) and not files.copy(name, folder / name)]
