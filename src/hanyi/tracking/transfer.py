"""The way of a journal into its row of the store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hanyi.params import PARAMS_FILE, flatten, read_params
from hanyi.revisions import file_at
from hanyi.tracking.identity import experiment_revision
from hanyi.tracking.journal import Message, Reading
from hanyi.tracking.mirror import Mirror, Store
from hanyi.tracking.results import complete
from hanyi.tracking.wiring import (
    LOCK,
    LOCK_TAG,
    lock_digest,
    output_tags,
    read_lock,
    read_wiring,
    upstream,
)


class Rows:
    """The rows of a store that were written to, by their keys, with the stages that wrote."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.mirrors: dict[str, Mirror] = {}
        self.stages: dict[str, set[str]] = {}


class Transfer:
    """One journal, as far as it is read."""

    def __init__(self, journal: Reading, rows: Rows) -> None:
        """Find or make its row, and log what is known at the beginning of the stage.

        Raises `HanyiError` when its parameters cannot be read.
        """
        self.journal = journal
        params = flatten(read_params(journal.folder / PARAMS_FILE))
        self.identity = journal.identity(params)
        key = self.identity.key
        if key not in rows.mirrors:
            rows.mirrors[key] = rows.store.run(self.identity, params, journal.time)
        self.mirror = rows.mirrors[key]
        self.mirror.begin()
        self.mirror.tags({**journal.machine, **output_tags(read_lock(journal.folder))})
        written = rows.stages.setdefault(key, set())
        skipped = [
            stage
            for stage in upstream(journal.stage, read_wiring(journal.folder))
            if stage not in written
        ]
        complete(self.mirror, journal.workspace, skipped, journal.time)
        written |= {*skipped, journal.stage}

    def write(self, messages: Sequence[Message]) -> bool:
        """Write messages; tell whether they were the last."""
        stage = self.journal.stage
        # Points of all messages go in one call; a training sends several each second.
        self.mirror.metrics(
            [
                (f"{stage}/{key}", value, message["step"], message["time"])
                for message in messages
                if message["kind"] == "metrics"
                for key, value in message["values"].items()
            ]
        )
        for message in messages:
            self._write(message)
        return bool(messages) and messages[-1]["kind"] == "end"

    def _write(self, message: Message) -> None:
        kind = message["kind"]
        if kind == "stage":
            self.mirror.stage(message["name"], message["values"], message["time"])
        elif kind == "tags":
            self.mirror.tags(message["values"])
        elif kind == "artifact":
            self.mirror.artifact(self.journal.folder / message["path"], message["folder"])
        elif kind == "text":
            self.mirror.text(message["text"], message["name"])
        elif kind == "end":
            self.mirror.finish(message["status"], message["time"])


def tag_lock(transfer: Transfer, root: Path) -> bool:
    """Tag a row with `dvc.lock` as it is after dvc has ended; tell whether there is one yet.

    DVC writes the entry of a stage when it has ended, and commits an experiment after its last.
    """
    lock = read_lock(transfer.journal.workspace)
    if transfer.identity.experiment:
        revision = experiment_revision(transfer.identity, root)
        lock = file_at(revision, LOCK, root) if revision else b""
    if lock:
        transfer.mirror.tags({**output_tags(lock), LOCK_TAG: lock_digest(lock)})
    return bool(lock)
