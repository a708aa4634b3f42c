"""Exact resume: the state of a training run on disk, outside of what DVC deletes and restores.

A folder `.hanyi/train/<fingerprint>/` holds what is trained (`run.json`) and the two newest
generations, one folder each. DVC removes a stage's outputs before it runs, and persistent ones
would let one experiment resume another's checkpoint; the fingerprint makes sure that only the very
same training finds this state. Nothing here but reading and writing tensors needs torch.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from hanyi.artifacts import atomic_directory, digest_bytes, digest_file
from hanyi.errors import ArtifactError
from hanyi.training.sealed import plain, read_sealed, write_sealed

log = logging.getLogger("hanyi.training")

KIND, VERSION = "hanyi.state", 2
RUN_KIND, RUN_VERSION = "hanyi.run", 1
PAYLOAD, HEADER, LOCK, RUN = "state.pt", "state.json", "lock", "run.json"
GENERATIONS = 2
SECONDS_FOR_LOCK = 0.5  # a listing of runs holds a lock for a moment
FRESH_VARIABLE = "HANYI_FRESH"


def fingerprint(parts: Mapping[str, Any]) -> str:
    """Give the digest of everything that decides how a training run goes."""
    return digest_bytes(json.dumps(parts, sort_keys=True, default=str).encode("utf-8"))


def code_digest(paths: Iterable[Path]) -> str:
    """Give the digest of Python sources: files, and packages with all below them."""
    listed: dict[str, str] = {}
    for path in paths:
        files = [path] if path.is_file() else sorted(path.rglob("*.py"))
        for file in files:
            listed[f"{path.name}/{file.relative_to(path)}"] = digest_file(file)
    return fingerprint(listed)


def state_root() -> Path:
    """Give the folder of all states: below `$DVC_ROOT`, which outlives a temporary workspace."""
    return Path(os.environ.get("DVC_ROOT") or ".") / ".hanyi" / "train"


def fresh_wanted() -> bool:
    """Tell whether `HANYI_FRESH` asks to leave out what was saved before."""
    return os.environ.get(FRESH_VARIABLE, "") not in {"", "0"}


@dataclass(frozen=True, slots=True)
class Generation:
    """What can be known of a saved state without its tensors."""

    path: Path
    digest: str  # of the file of tensors
    size: int  # of that file, bytes
    step: int  # updates done
    epoch: int | None  # from 0
    history: list[dict[str, Any]]  # validations, without their samples

    @property
    def saved(self) -> float:
        """Give when it was saved, seconds since 1970."""
        return self.path.stat().st_mtime


class StateFolder:
    """The saved generations of one training run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder; raise `ArtifactError` at once when another trainer does."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / LOCK)
            lock.acquire(timeout=SECONDS_FOR_LOCK)
        except Timeout:
            raise ArtifactError(
                self.path,
                "another process trains this very model",
                "one trainer for each state folder",
                "wait for it or end it",
            ) from None
        except OSError as error:
            raise _unwritable(self.path, error) from error
        try:
            for leftover in self.path.glob(".*.tmp-*"):  # of a run killed during a save
                _remove(leftover)
            yield
        finally:
            lock.release()

    def in_use(self) -> bool:
        """Tell whether a trainer holds the folder now."""
        if not (self.path / LOCK).is_file():
            return False
        try:
            with FileLock(self.path / LOCK, timeout=0):
                return False
        except Timeout:
            return True
        except PermissionError as error:
            raise _denied(error) from None

    def describe(self, run: Mapping[str, Any]) -> None:
        """Write down what is trained, unless it stands there already."""
        file = self.path / RUN
        found = self.run()
        if found == plain(run):
            return
        if found is None and file.exists():
            log.warning("%s: broken, written anew", file)
        try:
            write_sealed(file, RUN_KIND, RUN_VERSION, run)
        except ArtifactError as error:
            raise _unwritable(self.path, error) from error

    def run(self) -> dict[str, Any] | None:
        """Give what is trained, or None when that is not known or its file is broken."""
        try:
            return read_sealed(self.path / RUN, RUN_KIND, RUN_VERSION)
        except PermissionError as error:
            raise _denied(error) from None
        except ArtifactError:
            return None

    def save(self, step: int, payload: Mapping[str, Any]) -> None:
        """Publish a generation, then drop all but the two newest.

        Raises `ArtifactError` when it cannot be written; the generations before are kept then.
        """
        directory = self.path / f"step-{step:09d}"
        if not _is_whole(directory):  # to replace what is whole would leave none for a moment
            try:
                with atomic_directory(directory) as temporary:
                    _write(temporary, step, payload)
            except (
                ArtifactError,
                RuntimeError,
            ) as error:  # the latter is torch's, of a failed write
                raise _unwritable(self.path, error) from error
        for old in self._directories()[GENERATIONS:]:
            shutil.rmtree(old, ignore_errors=True)

    def load(self) -> dict[str, Any] | None:
        """Give the newest generation that is whole, tensors on the CPU, or None when there is none.

        Warns about each broken one and removes it. Raises `ArtifactError` where reading is not
        allowed.
        """
        directories = self._directories()
        for directory in directories:
            if _is_whole(directory):
                return _read(directory)
            log.warning("%s: a broken training state, the one before it is taken", directory)
            _remove(directory)
        if directories:
            log.warning("%s: no state is whole, so training starts anew", self.path)
        return None

    def generations(self) -> list[Generation]:
        """Give what is known of the saved generations, the newest first; broken ones are left out.

        Tensors are not read: a wrong size of their file is seen, a changed byte only by `load`.
        """
        return [found for path in self._directories() if (found := _known(path)) is not None]

    def clear(self) -> None:
        """Remove what is saved so that training starts anew, and say what is left out."""
        for found in self.generations()[:1]:
            minutes = (time.time() - found.saved) / 60
            log.warning(
                "starting anew: the state after update %d, saved %.0f minutes ago, is removed",
                found.step,
                minutes,
            )
        for directory in self._directories():
            _remove(directory)

    def remove(self) -> None:
        """Remove the folder, once the model is published."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _directories(self) -> list[Path]:
        return sorted(self.path.glob("step-*"), reverse=True)


def _write(directory: Path, step: int, payload: Mapping[str, Any]) -> None:
    import torch

    file = directory / PAYLOAD
    with file.open("wb") as stream:
        torch.save(dict(payload), stream)
    progress = payload.get("progress", {})
    history = [
        {name: value for name, value in row.items() if name != "samples"}
        for row in progress.get("history", ())
    ]
    fields = {
        "digest": digest_file(file),
        "size": file.stat().st_size,
        "step": step,
        "epoch": progress.get("epoch"),
        "history": history,
    }
    write_sealed(directory / HEADER, KIND, VERSION, fields)


def _read(directory: Path) -> dict[str, Any]:
    import torch

    loaded: dict[str, Any] = torch.load(directory / PAYLOAD, map_location="cpu", weights_only=True)
    return loaded


def _known(directory: Path) -> Generation | None:
    try:
        header = read_sealed(directory / HEADER, KIND, VERSION)
        found = Generation(path=directory, **header)
        return found if (directory / PAYLOAD).stat().st_size == found.size else None
    except PermissionError as error:
        raise _denied(error) from None
    except (ArtifactError, OSError):
        return None


def _is_whole(directory: Path) -> bool:
    """Tell whether every byte is as it was saved."""
    found = _known(directory)
    try:
        return found is not None and digest_file(directory / PAYLOAD) == found.digest
    except PermissionError as error:
        raise _denied(error) from None
    except OSError:  # a bad place of the disk
        return False


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _denied(error: PermissionError) -> ArtifactError:
    return ArtifactError(error.filename, "permission denied", "a file to read", "mend its rights")


def _unwritable(path: Path, error: BaseException) -> ArtifactError:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    found = (cause and cause.strerror) or str(error).partition("\n")[0]
    return ArtifactError(
        path,
        f"the training state cannot be written ({found})",
        "a disk with room",
        "free some and run again: training goes on from the last good state",
    )
