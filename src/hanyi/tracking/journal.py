"""Journals: what a stage tells of itself lies on disk until MLflow has it.

`.hanyi/tracking/<time>-<process>-<stage>/` holds who ran (`journal.json`), the files that say what
was asked for, one JSON message a line (`messages.jsonl`), and copies of the artifacts. The stage
holds its lock while it runs, so that a killed one is known. Who has written all of it into MLflow
removes the folder; a `fault` beside it says why that did not work.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from hanyi.artifacts import read_header, write_header, write_text
from hanyi.errors import ArtifactError
from hanyi.params import PARAMS_FILE
from hanyi.tracking.identity import Identity, params_digest, read_origin
from hanyi.tracking.machine import describe_machine
from hanyi.tracking.wiring import LOCK, WIRING

KIND, VERSION = "hanyi.journal", 1
HEADER, MESSAGES, FAULT, FILES, HELD = "journal.json", "messages.jsonl", "fault", "files", "lock"
COPIED = (PARAMS_FILE, WIRING, LOCK)  # as they stood when the stage began
KILLED = "KILLED"

Message = Mapping[str, Any]


def tracking_folder(root: Path) -> Path:
    """Give the folder of a project's journals."""
    return root / ".hanyi" / "tracking"


class Journal:
    """The journal that a running stage writes."""

    def __init__(self, root: Path, stage: str, address: str) -> None:
        """Begin it; `address` is that of the MLflow store. Raises `OSError` when it cannot."""
        self.root = root
        name = f"{time.time_ns()}-{os.getpid()}-{stage}"
        self.folder = tracking_folder(root) / name
        self.folder.mkdir(parents=True)
        # Held before the header is there: who sees the header finds the lock taken.
        self._lock = FileLock(self.folder / HELD)
        self._lock.acquire()
        self._files = 0
        self._messages = (self.folder / MESSAGES).open("a", encoding="utf-8", newline="\n")
        for file in COPIED:
            with suppress(FileNotFoundError):
                shutil.copyfile(file, self.folder / file.name)
        fields = {
            "stage": stage,
            "address": address,
            "workspace": str(Path.cwd()),
            "parent": os.getppid() if "DVC_STAGE" in os.environ else 0,  # 0: not run by dvc
            "time": now(),
            "origin": read_origin(),
            "machine": describe_machine(),
        }
        write_header(self.folder / HEADER, KIND, VERSION, fields)

    def append(self, message: Message) -> None:
        """Add a message."""
        self._messages.write(json.dumps(message) + "\n")
        self._messages.flush()

    def keep(self, path: Path) -> str:
        """Copy a file beside the messages, for who reads them after it is gone; give its name."""
        self._files += 1
        copy = self.folder / FILES / str(self._files) / path.name
        copy.parent.mkdir(parents=True)
        shutil.copyfile(path, copy)
        return copy.relative_to(self.folder).as_posix()

    def is_recorded(self) -> bool:
        """Tell whether MLflow has all of it."""
        return not self.folder.exists()

    def fault(self) -> str:
        """Say why the store does not take it, or nothing."""
        return _read(self.folder / FAULT)

    def close(self) -> None:
        """End it; nothing more will be written."""
        with suppress(OSError):  # a full disk, which was told
            self._messages.close()
        self._lock.release()


class Reading:
    """A journal that is read while it may still be written."""

    def __init__(self, folder: Path) -> None:
        """Open it; raises `ArtifactError` when it is of another version."""
        self.folder = folder
        fields = read_header(folder / HEADER, KIND, VERSION)
        self.stage = str(fields["stage"])
        self.address = str(fields["address"])
        self.workspace = Path(fields["workspace"])
        self.parent = int(fields["parent"])
        self.time = int(fields["time"])
        self.machine: dict[str, str] = fields["machine"]
        self._origin: dict[str, Any] = fields["origin"]
        self._place = 0

    def identity(self, params: Mapping[str, Any]) -> Identity:
        """Give the experiment to which the stage belongs."""
        return Identity(**self._origin, params=params_digest(params))

    def messages(self) -> list[Message]:
        """Give what is new, up to the end; a killed stage's journal ends with an end of our own."""
        over = not self.in_use()  # asked before reading: what it wrote last is then read
        with (self.folder / MESSAGES).open("rb") as file:
            file.seek(self._place)
            lines = file.read().splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):
            lines.pop()  # it is being written, or was cut by a kill
        self._place += sum(map(len, lines))
        found = [json.loads(line) for line in lines]
        ended = bool(found) and found[-1]["kind"] == "end"
        return [*found, {"kind": "end", "status": KILLED, "time": now()}] if over > ended else found

    def rewind(self) -> None:
        """Begin again with the first message."""
        self._place = 0

    def in_use(self) -> bool:
        """Tell whether the stage still runs."""
        return is_held(FileLock(self.folder / HELD))

    def fault(self) -> str:
        """Say why the store did not take it, or nothing."""
        return _read(self.folder / FAULT)

    def fail(self, reason: str) -> None:
        """Keep it, with the reason why the store did not take it."""
        write_text(self.folder / FAULT, reason + "\n")

    def recover(self) -> None:
        """Forget a fault: the store takes it by now."""
        (self.folder / FAULT).unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove it: MLflow has all of it."""
        shutil.rmtree(self.folder, ignore_errors=True)


def find_journals(root: Path) -> Iterator[Path]:
    """Give the folders of all journals, the oldest first."""
    for header in sorted(tracking_folder(root).glob(f"*/{HEADER}")):
        yield header.parent


def open_journals(root: Path) -> tuple[list[Reading], list[ArtifactError]]:
    """Open all journals, the oldest first; give the errors of those that cannot be read."""
    opened = [_open(folder) for folder in find_journals(root)]
    return (
        [journal for journal in opened if isinstance(journal, Reading)],
        [error for error in opened if isinstance(error, ArtifactError)],
    )


def is_held(lock: FileLock) -> bool:
    """Tell whether another process holds a lock."""
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


def now() -> int:
    """Give milliseconds since 1970, as MLflow counts."""
    return int(time.time() * 1000)


def _open(folder: Path) -> Reading | ArtifactError | None:
    try:
        return Reading(folder)
    except ArtifactError as error:
        return error if folder.exists() else None  # None: it has just been recorded


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
