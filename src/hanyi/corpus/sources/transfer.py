"""One attempt after another to bring a body over HTTP into a file that grows."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import requests
import urllib3

from hanyi import __version__
from hanyi.progress import Advance, progress

log = logging.getLogger("hanyi.corpus")

TIMEOUTS = (10.0, 60.0)  # seconds: to connect, and between two pieces of the body
PIECE = 1 << 18  # bytes
WORTH_ANOTHER_TRY = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class RefusedError(Exception):
    """An answer that another attempt would not change, such as 404."""


class BrokenError(requests.RequestException):
    """A body that ended before its length, or an answer worth another attempt."""


def plain(url: str) -> str:
    """Give a URL for messages and tables: without user, password, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class Transfer:
    """A file that grows from attempt to attempt: `run` ends without error when it is whole.

    `remember` is told the validator (a strong ETag, else Last-Modified) of each body begun, before
    its first byte is written; with it the next attempt, perhaps of another process, asks for the
    rest of that very body (If-Range, RFC 9110). Without one it begins anew.
    """

    def __init__(
        self, url: str, path: Path, validator: str | None, remember: Callable[[str | None], None]
    ) -> None:
        self._url, self._path = url, path
        self._validator, self._remember = validator, remember

    @property
    def size(self) -> int:
        """Give the bytes that are there."""
        return self._path.stat().st_size if self._path.exists() else 0

    def run(self) -> None:
        """Make one attempt; raise `RefusedError`, or `RequestException` when another may help."""
        begin = self.size if self._validator else 0
        headers = {
            "User-Agent": f"hanyi/{__version__}",
            "Accept-Encoding": "identity",  # the bytes as published: sums and sizes are theirs
        }
        if begin:
            headers |= {"Range": f"bytes={begin}-", "If-Range": str(self._validator)}
        with _ask(self._url, headers) as answer:
            total = self._begin(answer, begin)
            with self._path.open("ab") as file, _counted(self._url, total, self.size) as advance:
                for piece in _pieces(answer):
                    file.write(piece)
                    advance(len(piece))
                file.flush()
                os.fsync(file.fileno())
        if total is None:
            log.info("%s: the server told no length; sha256 makes it sure", plain(self._url))
        elif self.size != total:
            raise BrokenError(f"the body ended at {self.size:,} of {total:,} bytes")

    def _begin(self, answer: requests.Response, begin: int) -> int | None:
        """Check an answer's head, make the file as long as it says; give the body's full length."""
        status, length = answer.status_code, answer.headers.get("Content-Length", "")
        if begin and status == HTTPStatus.PARTIAL_CONTENT:
            found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
            if found and int(found[1]) == begin:
                log.info("%s: going on at byte %d", plain(self._url), begin)
                return int(found[2]) if found[2] != "*" else None
            self._forget()
            raise BrokenError("a part of the file that was not asked for")
        if begin and status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            self._forget()
            raise BrokenError("no such part of the file")
        if status != HTTPStatus.OK:
            kind = BrokenError if status in WORTH_ANOTHER_TRY or status >= 500 else RefusedError
            raise kind(f"HTTP {status} {answer.reason or ''}".strip())
        self._validator = _validator(answer)
        self._path.unlink(missing_ok=True)
        self._remember(self._validator)
        return int(length) if length.isdecimal() else None

    def _forget(self) -> None:
        self._validator = None
        self._path.unlink(missing_ok=True)


def _ask(url: str, headers: dict[str, str]) -> requests.Response:
    try:
        return requests.get(url, headers=headers, stream=True, timeout=TIMEOUTS)
    except (requests.TooManyRedirects, ValueError) as error:  # ValueError: no URL, or no name in it
        raise RefusedError(str(error)) from None


def _validator(answer: requests.Response) -> str | None:
    etag = str(answer.headers.get("ETag", ""))
    if etag.startswith('"'):  # a weak one, W/"...", says nothing about bytes
        return etag
    return answer.headers.get("Last-Modified")


def _pieces(answer: requests.Response) -> Iterator[bytes]:
    # Not iter_content: it would unpack what a server labels as packed, such as the .gz file itself.
    try:
        yield from answer.raw.stream(PIECE, decode_content=False)
    except urllib3.exceptions.HTTPError as error:
        raise BrokenError(error) from error


@contextmanager
def _counted(url: str, total: int | None, done: int) -> Iterator[Advance]:
    if total is None:
        yield lambda _: None
        return
    with progress(plain(url).rpartition("/")[2] or "download", total, "bytes") as advance:
        advance(done)
        yield advance
