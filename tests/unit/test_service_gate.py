"""What stands before the application, message by message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from hanyi.service import gate
from hanyi.service.gate import Gate
from hanyi.service.limits import USUAL
from hanyi.service.metrics import Metrics

LIMITS = replace(USUAL, body_bytes=100, timeout_seconds=0.2)


class Line:
    """A connection: what comes is given, what goes is kept."""

    def __init__(self, *pieces: bytes, length: int | None = None, ends: bool = True) -> None:
        headers = [] if length is None else [(b"content-length", b"%d" % length)]
        self.scope = {"type": "http", "method": "POST", "path": "/translate", "headers": headers}
        self.coming = [
            {
                "type": "http.request",
                "body": piece,
                "more_body": not ends or place < len(pieces) - 1,
            }
            for place, piece in enumerate(pieces)
        ]
        self.read = 0
        self.sent: list[Any] = []
        self.read_before_answer = 0

    async def receive(self) -> Any:
        if not self.coming:
            await asyncio.sleep(60)
        self.read += 1
        return self.coming.pop(0)

    async def send(self, message: Any) -> None:
        if not self.sent:
            self.read_before_answer = self.read
        self.sent.append(message)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def code(self) -> str:
        body = b"".join(message["body"] for message in self.sent[1:])
        return str(json.loads(body)["error"]["code"])


class Echo:
    """An application that gives the body back."""

    async def __call__(self, _scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        assert not message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": message["body"]})


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "LINGER_SECONDS", 0.05)


def make(stopping: bool = False) -> Gate:
    service: Any = SimpleNamespace(limits=LIMITS, stopping=stopping, active=0, metrics=Metrics())
    return Gate(Echo(), service, {"/translate"})


def run(made: Gate, *lines: Line) -> None:
    async def all_at_once(lines: Iterable[Line]) -> None:
        await asyncio.gather(*(made(line.scope, line.receive, line.send) for line in lines))

    asyncio.run(all_at_once(lines))
    assert made.held == 0
    assert made.service.active == 0


def counted(made: Gate, status: int) -> float:
    labels = {"method": "POST", "path": "/translate", "status": str(status)}
    return made.service.metrics.registry.get_sample_value("hanyi_requests_total", labels) or 0.0


def test_a_body_in_pieces_comes_whole() -> None:
    made, line = make(), Line(b"a" * 40, b"", b"b" * 60, length=100)
    run(made, line)
    assert line.sent[1]["body"] == b"a" * 40 + b"b" * 60
    assert counted(made, 200) == 1


def test_of_a_body_that_is_told_too_large_nothing_is_read_before_the_answer() -> None:
    made, line = make(), Line(b"a" * 50, b"a" * 51, length=101)
    run(made, line)
    assert (line.status, line.code, line.read_before_answer) == (413, "too_large", 0)
    assert (b"connection", b"close") in line.sent[0]["headers"]
    assert line.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    assert line.read == 2  # so that the client, which sends first, comes to read
    assert counted(made, 413) == 1


def test_a_body_that_becomes_too_large_is_read_no_further() -> None:
    line = Line(*[b"a" * 60] * 3, ends=False)
    run(make(), line)
    assert (line.status, line.read_before_answer) == (413, 2)


def test_a_length_that_is_no_number_of_this_world() -> None:
    line = Line(b"a")
    line.scope["headers"] = [(b"content-length", b"9" * 5000)]
    run(make(), line)
    assert line.status == 413


def test_a_body_that_does_not_come() -> None:
    line = Line(b"a", ends=False)
    run(make(), line)
    assert (line.status, line.code) == (408, "body_too_slow")


def test_a_client_that_goes_gets_nothing() -> None:
    made, line = make(), Line(b"a", ends=False)
    line.coming.append({"type": "http.disconnect"})
    run(made, line)
    assert line.sent == []


def test_bodies_have_a_limit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "BODIES", 2)
    lines = [Line(b"a" * 90, b"a" * 10, ends=False) for _ in range(3)]
    run(make(), *lines)
    assert sorted(line.status for line in lines) == [408, 408, 503]


def test_a_service_that_stops_reads_nothing() -> None:
    line = Line(b"a", length=1)
    run(make(stopping=True), line)
    assert (line.status, line.code, line.read_before_answer) == (503, "unavailable", 0)
