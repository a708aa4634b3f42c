"""Downloads over HTTP that go on where they broke off, into a cache that outlives the outputs.

`requests` carries the bytes: dvc and MLflow bring it anyway, and it knows proxies, certificates,
netrc and redirects. What it lacks is here: resuming, checksums, and a file that is whole or not
there. Neither pooch nor fsspec resumes, and mtdata's own downloader takes a broken body for whole.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import requests
from filelock import FileLock, Timeout

from hanyi.artifacts import UNWRITABLE, digest_bytes, write_text
from hanyi.corpus.sources.transfer import RefusedError, Transfer, plain
from hanyi.errors import ArtifactError, DataError

log = logging.getLogger("hanyi.corpus")

ATTEMPTS = 4
"""Attempts in a row that bring nothing new before giving up."""

FIRST_WAIT = 0.5  # seconds between attempts, doubled each time
PART = ".part"
STATE = "download.json"


def cache_root() -> Path:
    """Give the folder of all downloads: below `$DVC_ROOT`, which outlives a temporary workspace."""
    return Path(os.environ.get("DVC_ROOT") or ".") / ".hanyi" / "downloads"


def download(url: str, where: str, sha256: str | None = None) -> Path:
    """Give the local copy of a URL, downloaded unless it is there whole.

    `where` names the parameters in messages. Without `sha256` the sum is logged, to be set. Raises
    `DataError` when the file cannot be had or is another one, `ArtifactError` for a full disk.
    """
    folder = cache_root() / digest_bytes(url.encode("utf-8"))[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder, url):
            return _Copy(url, where, folder).get(sha256)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        raise ArtifactError(
            folder,
            error.strerror or str(error),
            "room for the download",
            "free space or mend rights",
        ) from error


def file_name(url: str) -> str:
    """Give the last part of a URL's path as the name of a file."""
    name = unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2].replace("\0", "")
    # The ending tells the format, so a long name loses its beginning.
    return name[-60:] if name not in {"", ".", "..", PART, STATE} else "download"


class _alone:  # noqa: N801  (used as a context)
    """Let one process at a time download a URL; the others find it done."""

    def __init__(self, folder: Path, url: str) -> None:
        self._lock = FileLock(folder.with_suffix(".lock"))
        self._url = url

    def __enter__(self) -> None:
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            log.info("%s: waiting for another process that downloads it", plain(self._url))
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class _Copy:
    """The local copy of one URL: the whole file, or a part of it, and what is known of it."""

    def __init__(self, url: str, where: str, folder: Path) -> None:
        self.url, self.where = url, where
        self.path = folder / file_name(url)
        self.part = folder / PART
        self._state = folder / STATE

    def get(self, sha256: str | None) -> Path:
        known = self._read()
        if self._is_whole(known) and sha256 in {None, known["sha256"]}:
            log.info("%s: downloaded before, %s", plain(self.url), self.path)
            return self.path
        self._fetch(known)
        found = _sha256(self.part)
        if sha256 not in {None, found}:
            self.part.unlink()
            raise DataError(
                plain(self.url), f"sha256 {found}, so the download was removed", sha256 or "",
                f"run again; if it stays so, the file has changed: set {self.where}.sha256",
            )  # fmt: skip
        if sha256 is None:
            log.info("%s: to hold this file, set %s.sha256: %s", plain(self.url), self.where, found)
        size = self.part.stat().st_size
        write_text(self._state, json.dumps({"url": plain(self.url), "sha256": found, "size": size}))
        self.part.replace(self.path)
        return self.path

    def _is_whole(self, known: dict[str, Any]) -> bool:
        return (
            "sha256" in known
            and self.path.is_file()
            and self.path.stat().st_size == known.get("size")
        )

    def _fetch(self, known: dict[str, Any]) -> None:
        transfer = Transfer(self.url, self.part, known.get("validator"), self._remember)
        failures, best = 0, transfer.size
        while error := self._attempt(transfer):
            failures = 1 if transfer.size > best else failures + 1
            best = max(best, transfer.size)
            if failures >= ATTEMPTS:
                raise self._unreachable(_cause(error), transfer.size) from None
            log.info(
                "%s: %s at byte %d, trying again", plain(self.url), _cause(error), transfer.size
            )
            time.sleep(FIRST_WAIT * 2 ** (failures - 1))

    def _attempt(self, transfer: Transfer) -> Exception | None:
        try:
            transfer.run()
        except RefusedError as refusal:
            raise DataError(
                plain(self.url), str(refusal), "a file", f"mend {self.where}.source"
            ) from None
        except requests.RequestException as error:
            return error
        return None

    def _unreachable(self, cause: str, size: int) -> DataError:
        kept = f"; the first {size:,} bytes are kept for the next run" if size else ""
        return DataError(
            plain(self.url), f"{cause}{kept}", "an answer with the whole file",
            f"look at the network and {self.where}.source, then run again",
        )  # fmt: skip

    def _remember(self, validator: str | None) -> None:
        write_text(self._state, json.dumps({"url": plain(self.url), "validator": validator}))

    def _read(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self._state.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return {}


def _cause(error: BaseException) -> str:
    """Give the innermost reason: the outer ones repeat addresses of objects in memory."""
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    inner = [getattr(error, "reason", None), error.__cause__, error.__context__, *error.args]
    for deeper in inner:
        if isinstance(deeper, BaseException):
            return _cause(deeper)
    return getattr(error, "strerror", None) or str(error).rpartition(">: ")[2] or str(error)


def _sha256(path: Path) -> str:
    state = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            state.update(piece)
    return state.hexdigest()
