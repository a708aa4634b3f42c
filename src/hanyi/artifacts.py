"""Artifacts on disk: atomic publishing, canonical JSON, digests, versioned headers."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hanyi.errors import ArtifactError

METRIC_DIGITS = 6

DECODED = ("hanyi.decoded", 1)
"""Kind and version of the index beside the translations, which rooms below and above know."""

HIDDEN = ("_", ".")
"""Marks and check sums beside the parts of a folder begin like this: `_SUCCESS`, `.part-0.crc`."""

# What a user can mend; any other failure of the system is a bug and keeps its traceback.
UNWRITABLE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EBUSY,  # the folder that we are in
    errno.EEXIST,
    errno.EFBIG,
}


def digest_bytes(data: bytes) -> str:
    """Give the 128-bit BLAKE2b digest as 32 hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def digest_file(path: Path) -> str:
    """Give the digest of a file's bytes, read in pieces of 1 MiB."""
    state = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            state.update(piece)
    return state.hexdigest()


def digest_path(path: Path) -> str:
    """Give the digest of a file's bytes; of a folder, one of all names and digests within."""
    if not path.is_dir():
        return digest_file(path)
    names = sorted(file.relative_to(path).parts for file in visible_files(path))
    lines = (f"{'/'.join(name)} {digest_file(path.joinpath(*name))}\n" for name in names)
    return digest_bytes("".join(lines).encode("utf-8"))


def visible_files(path: Path) -> list[Path]:
    """Give the files below a folder; no part of their names is a hidden one."""
    return [
        file
        for file in path.rglob("*")
        if file.is_file()
        and not any(step.startswith(HIDDEN) for step in file.relative_to(path).parts)
    ]


def canonical_json(value: Any) -> str:
    """Write JSON whose bytes depend on the values alone: sorted keys, 6 digits, one final newline.

    Raises `ArtifactError` for a number that is not finite, which JSON cannot hold.
    """
    return json.dumps(_rounded(value, ""), ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _rounded(value: Any, where: str) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ArtifactError(
                where or "metrics", str(value), "a finite number", "look for divergence in the log"
            )
        return round(value, METRIC_DIGITS)
    if isinstance(value, Mapping):
        return {
            str(key): _rounded(item, f"{where}.{key}".lstrip(".")) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_rounded(item, where) for item in value]
    return value


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; publish it whole on success, remove it on failure."""
    with _published(path) as temporary:
        try:
            yield temporary
            _sync(temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yield a temporary directory beside `path`; it takes its place whole, or not at all."""
    with _published(path) as temporary:
        try:
            temporary.mkdir()
            yield temporary
            for file in sorted(temporary.rglob("*")):
                _sync(file)
            _sync(temporary)
            place = path.resolve()  # a link, to another disk perhaps, stays one
            if place.exists():
                shutil.rmtree(place)
            temporary.replace(place)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Publish a small text file atomically, UTF-8 with plain newlines."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_header(path: Path, kind: str, version: int, fields: Mapping[str, Any]) -> None:
    """Publish an artifact's JSON description, which says its kind and version."""
    write_text(path, canonical_json({**fields, "kind": kind, "version": version}))


def read_header(path: Path, kind: str, version: int) -> dict[str, Any]:
    """Read an artifact's JSON description.

    Raises `ArtifactError` unless it is of this kind and version.
    """
    remedy = "run `dvc repro`"
    text = _read_text(path, f"a {kind} description")
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as error:
        raise ArtifactError(
            path, f"broken JSON ({error})", f"a {kind} description", remedy
        ) from None
    found = (
        (fields.get("kind"), fields.get("version")) if isinstance(fields, dict) else (None, None)
    )
    if found != (kind, version):
        raise ArtifactError(
            path, f"{found[0]} version {found[1]}", f"{kind} version {version}", remedy
        )
    return dict(fields)


def read_metrics(path: Path) -> dict[str, Any]:
    """Read a stage's metrics file; raise `ArtifactError` when it is missing or broken."""
    return parse_metrics(_read_text(path, "the stage's metrics"), path)


def parse_metrics(text: str, where: object) -> dict[str, Any]:
    """Read the text of a metrics file that lies at `where`, in the workspace or in git."""
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        found = f"broken JSON ({error})"
    else:
        if isinstance(values, dict):
            return values
        found = type(values).__name__
    raise ArtifactError(where, found, "a JSON object of metrics", "run `dvc repro`")


def _read_text(path: Path, expected: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        found = "no such file"
    except UnicodeDecodeError as error:
        found = f"broken JSON ({error})"
    except (IsADirectoryError, NotADirectoryError, PermissionError) as error:
        found = str(error.strerror).lower()
    raise ArtifactError(path, found, expected, "run `dvc repro`")


@contextmanager
def _published(path: Path) -> Iterator[Path]:
    try:
        place = path.resolve() if path.is_dir() else path.absolute()
        place.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_over(place)
        yield place.with_name(f".{place.name}.tmp-{os.getpid()}")
        _sync(place.parent)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        expected, remedy = "a place that can be written", "free space or mend rights"
        raise ArtifactError(path, error.strerror or str(error), expected, remedy) from error


def _remove_left_over(path: Path) -> None:
    # A process that was killed outright could not remove its own.
    for other in path.parent.glob(f".{path.name}.tmp-*"):
        owner = other.name.rpartition("-")[2]
        if owner.isdecimal() and not _is_running(int(owner)):
            shutil.rmtree(other) if other.is_dir() else other.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
