"""The recorder: one process beside all stages of a project that moves journals into MLflow.

The first stage starts it as `python -m hanyi.tracking.recorder ROOT`; it ends when no stage writes
and no `dvc` that ran one lives. A store that fails is left alone for a while and then tried again
with all of the journal; what it has not taken when a stage ends stays for `hanyi publish`.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import Timeout

from hanyi.errors import ArtifactError, HanyiError
from hanyi.tracking.address import why
from hanyi.tracking.journal import Message, Reading, find_journals
from hanyi.tracking.tracker import recorder_lock

if TYPE_CHECKING:
    from hanyi.tracking.transfer import Rows, Transfer

LOOK_EVERY = 0.1  # seconds
GATHER = 2.0  # seconds between two batches of a stage that runs
PROBES = 1.0  # seconds for which others may look whether the lock is held
COMMITS = 3.0  # seconds for DVC to commit an experiment after its last stage
REST = 10  # times as long as a failure took, its store is left alone
LEAST_REST = 1.0  # seconds

# A server that is dead or slow costs seconds, and nothing leaves the machine unasked.
SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}


@dataclass
class Watched:
    """A journal, and how far it is written."""

    journal: Reading
    transfer: Transfer | None = None
    waiting: list[Message] = field(default_factory=list)  # read, and not yet written
    due: float = 0.0  # when to write the next batch
    left: bool = False  # to `hanyi publish`

    @property
    def ended(self) -> bool:
        """Tell whether the stage has said its last word."""
        return bool(self.waiting) and self.waiting[-1]["kind"] == "end"

    def again(self) -> None:
        """Begin with its first message again; the store may have lost any of them."""
        self.transfer, self.waiting, self.due = None, [], 0.0
        self.journal.rewind()


@dataclass(frozen=True)
class Rest:
    """How long a store is left alone, and why."""

    until: float
    reason: str


class Recorder:
    """Moves journals as they grow."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._watched: dict[Path, Watched] = {}
        self._rows: dict[str, Rows] = {}  # by address of the store
        self._rests: dict[str, Rest] = {}  # stores that are left alone
        self._parents: set[int] = set()  # processes of dvc whose stages came by
        self._unlocked: dict[str, Transfer] = {}  # rows whose dvc.lock is to come

    def run(self) -> None:
        """Work until nobody writes and nobody is about to."""
        while self._round() or any(map(_lives, self._parents)):
            time.sleep(LOOK_EVERY)
        self._tag_locks()

    def _round(self) -> bool:
        for folder in find_journals(self._root):
            if folder not in self._watched:
                self._watch(folder)
        more = [self._work(watched) for watched in self._watched.values()]
        return any(more)

    def _watch(self, folder: Path) -> None:
        try:
            journal = Reading(folder)
        except ArtifactError:  # of another version, which `hanyi publish` tells
            return
        self._parents.add(journal.parent)
        left = bool(journal.fault()) and not journal.in_use()
        self._watched[folder] = Watched(journal, left=left)

    def _work(self, watched: Watched) -> bool:
        """Take one journal on; tell whether there is more to come."""
        if watched.left or not watched.journal.folder.exists():
            return False
        if not watched.ended:
            watched.waiting += watched.journal.messages()
        begun = time.monotonic()
        rest = self._rests.get(watched.journal.address)
        if rest and begun < rest.until:
            return self._leave(watched, rest.reason)
        idle = watched.transfer is not None and not watched.waiting
        if not watched.ended and (idle or begun < watched.due):
            return True
        try:
            return not self._write(watched)
        except HanyiError:  # unreadable parameters: the stage itself says so
            watched.journal.remove()
            return False
        except Exception as error:  # noqa: BLE001 - whatever happens, the stages go on
            return self._fail(watched, error, time.monotonic() - begun)

    def _write(self, watched: Watched) -> bool:
        from hanyi.tracking.mirror import Store
        from hanyi.tracking.transfer import Rows, Transfer

        journal = watched.journal
        if journal.address not in self._rows:
            self._rows[journal.address] = Rows(Store(self._root, journal.address))
        if watched.transfer is None:
            watched.transfer = Transfer(journal, self._rows[journal.address])
        over = watched.transfer.write(watched.waiting)
        watched.waiting, watched.due = [], time.monotonic() + GATHER
        if self._rests.pop(journal.address, None):  # it takes what it did not, too
            for other in self._watched.values():
                other.left = other.left and other.journal.address != journal.address
        journal.recover()
        if over:
            journal.remove()
            if journal.parent:
                self._unlocked[watched.transfer.identity.key] = watched.transfer
        return over

    def _fail(self, watched: Watched, error: Exception, took: float) -> bool:
        address = watched.journal.address
        reason = why(address, error)
        self._rests[address] = Rest(time.monotonic() + max(LEAST_REST, REST * took), reason)
        self._rows.pop(address, None)
        more = self._leave(watched, reason)
        for other in self._watched.values():
            if other.journal.address == address:
                other.again()
        return more

    def _leave(self, watched: Watched, reason: str) -> bool:
        """Leave a journal where it is, for good if its stage has ended."""
        watched.left = watched.ended
        if not watched.journal.fault():
            watched.journal.fail(reason)
        return not watched.left

    def _tag_locks(self) -> None:
        if not self._unlocked:
            return
        from hanyi.tracking.transfer import tag_lock

        deadline = time.monotonic() + COMMITS
        waiting = list(self._unlocked.values())
        with suppress(Exception):  # `hanyi publish` does it
            while waiting and time.monotonic() < deadline:
                waiting = [one for one in waiting if not tag_lock(one, self._root)]
                time.sleep(LOOK_EVERY)


def serve(root: Path) -> None:
    """Record until nothing is left to record, unless another process does so."""
    while True:
        try:
            with recorder_lock(root).acquire(timeout=PROBES):
                Recorder(root).run()
        except Timeout:
            return
        # A stage that began meanwhile has seen the lock held, and counts on us.
        if not any(is_new(folder) for folder in find_journals(root)):
            return


def is_new(folder: Path) -> bool:
    """Tell whether a journal waits for a recorder, and not for `hanyi publish`."""
    try:
        journal = Reading(folder)
    except ArtifactError:
        return False
    return journal.in_use() or not journal.fault()


def prepare_mlflow() -> None:
    """Set what MLflow reads when it is imported, unless the user has set it."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    # A server that is down is told by us, in one line.
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)


def _lives(process: int) -> bool:
    if not process:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's, by now
        return False
    # A killed one whose parent never asks for its exit code.
    stat = Path(f"/proc/{process}/stat")
    return not (stat.exists() and stat.read_bytes().rpartition(b")")[2].split()[:1] == [b"Z"])


def main() -> None:
    """Record for the project whose root is named on the command line."""
    prepare_mlflow()
    serve(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
