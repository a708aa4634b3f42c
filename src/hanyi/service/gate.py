"""What every request passes before anything reads it: sizes, times, and the counters."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hanyi.service.faults import CODES, Gone, RefusedError, answer, stopping
from hanyi.service.work import Service

WITH_BODY = {"POST", "PUT", "PATCH"}
METHODS = {"GET", "HEAD", "OPTIONS", "DELETE", *WITH_BODY}

BODIES = 64
"""So many bodies of the largest size are held at once."""

DIGITS = 18
"""So many of a length are read; Python refuses to read some thousands."""

LINGER_SECONDS, LINGER_BYTES = 2.0, 32 << 20
"""How much of a body is still read, and thrown away, after it was refused.

A client that sends its body first and reads then would not see the answer if its connection were
closed at once.
"""


class Gate:
    """Reads bodies within the limits and counts answers."""

    def __init__(self, app: ASGIApp, service: Service, paths: Collection[str]) -> None:
        """Stand before an application; `paths` are those that are counted by their name."""
        self.app = app
        self.service = service
        self.paths = paths
        self.held = 0  # bytes of bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin = time.perf_counter()
        status = 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.service.active += 1
        try:
            await self._pass(scope, receive, counted)
        finally:
            self.service.active -= 1
            self._count(scope, status, time.perf_counter() - begin)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":  # as monitors ask; the server leaves the body out
            scope = {**scope, "method": "GET"}
        if scope["method"] not in WITH_BODY:
            await self.app(scope, receive, send)
            return
        body = bytearray()
        try:
            await self._read(body, scope, receive)
        except RefusedError as refused:
            await _refuse(refused, receive, send)
        except Gone:
            pass
        else:
            await self.app(scope, _again(bytes(body), receive), send)
        finally:
            self.held -= len(body)

    async def _read(self, body: bytearray, scope: Scope, receive: Receive) -> None:
        """Read a body, of which nothing is read when its header says that it is too large."""
        if self.service.stopping:
            raise stopping()
        limits = self.service.limits
        told = Headers(scope=scope).get("content-length", "")[:DIGITS]
        self._check(int(told) if told.isdecimal() else 0, 0)
        until = time.monotonic() + limits.timeout_seconds
        more = True
        while more:
            try:
                message = await asyncio.wait_for(receive(), until - time.monotonic())
            except asyncio.TimeoutError:
                found, most = f"{len(body)} bytes came", f"all in {limits.timeout_seconds:g} s"
                raise RefusedError(408, "body", found, most, "send it faster") from None
            if message["type"] == "http.disconnect":
                raise Gone
            piece = message.get("body", b"")
            self._check(len(body) + len(piece), len(piece))
            body += piece
            self.held += len(piece)
            more = message.get("more_body", False)

    def _check(self, size: int, piece: int) -> None:
        limit = self.service.limits.body_bytes
        if size > limit:
            found, most = f"over {limit:,} bytes", f"at most {limit:,}"
            raise RefusedError(413, "body", found, most, "send several requests")
        if self.held + piece > BODIES * limit:
            found, most = f"{self.held:,} bytes at once", f"at most {BODIES * limit:,}"
            raise RefusedError(503, "bodies", found, most, "try again later", retry_after=1)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        metrics = self.service.metrics
        path = scope["path"] if scope["path"] in self.paths else "other"
        method = scope["method"] if scope["method"] in METHODS else "other"
        metrics.requests.labels(method, path, str(status)).inc()
        metrics.request_seconds.labels(path).observe(seconds)
        if status >= 400:
            metrics.rejected.labels(CODES.get(status, "gone" if status == 499 else "error")).inc()


def _again(body: bytes, receive: Receive) -> Receive:
    """Give a body that has been read once more, and then what comes next."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _refuse(refused: RefusedError, receive: Receive, send: Send) -> None:
    """Answer at once, but close the connection only when the client has had time to read."""
    told = answer(refused.status, str(refused), {**refused.headers, "Connection": "close"})
    start = {"type": "http.response.start", "status": told.status_code, "headers": told.raw_headers}
    await send(start)
    await send({"type": "http.response.body", "body": bytes(told.body), "more_body": True})
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(_drain(receive), LINGER_SECONDS)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _drain(receive: Receive) -> None:
    read = 0
    while read < LINGER_BYTES:
        message = await receive()
        read += len(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return
