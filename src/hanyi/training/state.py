"""Exact resume: the state of a training run on disk, outside of what DVC deletes and restores.

A folder `.hanyi/train/<fingerprint>/` holds the two newest generations, one folder each. DVC
removes a stage's outputs before it runs, and persistent ones would let one experiment resume
another's checkpoint; the fingerprint makes sure that only the very same training finds this state.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from hanyi.artifacts import atomic_directory, digest_bytes, digest_file, read_header, write_header
from hanyi.errors import ArtifactError

log = logging.getLogger("hanyi.training")

KIND, VERSION = "hanyi.state", 1
PAYLOAD, HEADER, LOCK = "state.pt", "state.json", "lock"
GENERATIONS = 2


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
            lock.acquire(timeout=0)
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
                shutil.rmtree(leftover, ignore_errors=True)
            yield
        finally:
            lock.release()

    def save(self, step: int, payload: Mapping[str, Any]) -> None:
        """Publish a generation, then drop all but the two newest.

        Raises `ArtifactError` when it cannot be written; the generations before are kept then.
        """
        with atomic_directory(self.path / f"step-{step:09d}") as directory:
            file = directory / PAYLOAD
            try:
                with file.open("wb") as stream:
                    torch.save(dict(payload), stream)
            except RuntimeError as error:  # how torch reports a write that failed
                cause = error.__context__
                raise _unwritable(self.path, cause or error) from error
            write_header(directory / HEADER, KIND, VERSION, {"digest": digest_file(file)})
        for old in self._generations()[GENERATIONS:]:
            shutil.rmtree(old)

    def load(self) -> dict[str, Any] | None:
        """Give the newest generation that is whole, tensors on the CPU, or None when there is none.

        Warns about each broken one and removes it.
        """
        generations = self._generations()
        for directory in generations:
            if (payload := _read(directory)) is not None:
                return payload
            shutil.rmtree(directory)
        if generations:
            log.warning("%s: no state is whole, so training starts anew", self.path)
        return None

    def remove(self) -> None:
        """Remove the folder, once the model is published."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _generations(self) -> list[Path]:
        return sorted(self.path.glob("step-*"), reverse=True)


def _read(directory: Path) -> dict[str, Any] | None:
    path = directory / PAYLOAD
    try:
        expected = read_header(directory / HEADER, KIND, VERSION).get("digest")
    except ArtifactError:
        expected = None
    if expected is None or not path.is_file() or digest_file(path) != expected:
        log.warning("%s: a broken training state, the one before it is taken", directory)
        return None
    loaded: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return loaded


def _unwritable(path: Path, error: BaseException) -> ArtifactError:
    found = getattr(error, "strerror", None) or str(error).partition("\n")[0]
    return ArtifactError(
        path,
        f"the training state cannot be written ({found})",
        "a disk with room",
        "free some and run again: training goes on from the last good state",
    )
