"""The real service on loopback: a crowd, bad clients, and how it stops."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.models import save_tiny_model, tiny_tokenizers
from tests.service import TINY

CROWD = 1000
FILES = 4096  # open at once, in the test
PROGRAM = [sys.executable, "-c", "from hanyi.cli import app; app()", "serve"]


class Service:
    """A running service."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Send one request on a connection of its own; give status and body."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request(method, path, body))
            await writer.drain()
            return parsed(await asyncio.wait_for(reader.read(), 60))
        finally:
            writer.close()

    def get(self, path: str) -> tuple[int, bytes]:
        """Ask and wait."""
        return asyncio.run(self.ask("GET", path))

    def translate(self, **asked: Any) -> tuple[int, Any]:
        """Ask and wait; give status and JSON."""
        body = json.dumps(asked).encode()
        status, found = asyncio.run(self.ask("POST", "/translate", body))
        return status, json.loads(found)

    def raw(self) -> socket.socket:
        """Connect, to misbehave."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def counted(self, name: str) -> float:
        """Read a value of the metrics."""
        text = self.get("/metrics")[1].decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        assert found, text
        return float(found[1])

    def stop(self, sent: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(sent)


def request(method: str, path: str, body: bytes) -> bytes:
    """Write a request whose connection closes after the answer."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def parsed(answer: bytes) -> tuple[int, bytes]:
    """Take an answer apart."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def received(connection: socket.socket) -> tuple[int, Any]:
    """Read an answer to its end."""
    answer = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            answer += piece
    status, body = parsed(answer)
    return status, json.loads(body)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("model")
    save_tiny_model(home / "transformer", *tiny_tokenizers(home / "tokenizers"))
    return home


@contextmanager
def serving(model: Path, root: Path, *options: str) -> Iterator[Service]:
    """Start the program on a free port, and kill it in the end."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "HANYI_DEVICE": "cpu"}
    with subprocess.Popen(
        [*PROGRAM, "--model", str(model), "--port", "0", *options],
        env=environment,
        cwd=model,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = re.match(r"http://127\.0\.0\.1:(\d+): ", line)
            assert found, line + process.stderr.read()
            service = Service(process, int(found[1]))
            wait_for(lambda: listens(service.port))
            yield service
        finally:
            process.kill()


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def wait_for(holds: Callable[[], bool]) -> None:
    """Wait until something holds, for twenty seconds at most."""
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def service(model: Path, root: Path) -> Iterator[Service]:
    with serving(model, root, "--queue", "300", "--timeout", "20") as started:
        yield started


def test_a_crowd_is_answered_or_told_to_come_again(service: Service) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = FILES if hard == resource.RLIM_INFINITY else min(hard, FILES)
    if most < CROWD + 100:
        pytest.skip(f"only {most} files may be open at once")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    body = json.dumps({"text": TINY}).encode()

    async def crowd() -> list[tuple[int, bytes]]:
        asked = (service.ask("POST", "/translate", body) for _ in range(CROWD))
        return await asyncio.gather(*asked)

    answers = asyncio.run(crowd())
    statuses = Counter(status for status, _ in answers)
    assert set(statuses) <= {200, 429}
    assert statuses[200] >= 300
    alone = service.translate(text=TINY)[1]["translations"]
    for status, found in answers:
        answer = json.loads(found)
        assert (
            answer["error"]["code"] == "busy" if status == 429 else answer["translations"] == alone
        )
    assert service.get("/health")[0] == 200
    assert service.counted("hanyi_queue_texts") == 0
    assert service.counted("hanyi_requests_active") == 1  # the one that asks
    assert service.counted("hanyi_batch_texts_count") < statuses[200]


def test_ten_megabytes_are_not_read(service: Service) -> None:
    status, found = service.translate(text="我" * 3_400_000)
    assert (status, found["error"]["code"]) == (413, "too_large")
    with service.raw() as connection:  # that says how much it would send
        connection.sendall(request("POST", "/translate", b"").replace(b"h: 0", b"h: 9999999"))
        begin = time.monotonic()
        assert received(connection)[0] == 413
        assert time.monotonic() - begin < 10


def test_a_body_without_an_end_is_cut_off(service: Service) -> None:
    with service.raw() as connection:
        connection.sendall(
            b"POST /translate HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        piece = b"10000\r\n" + b"a" * 65536 + b"\r\n"
        with contextlib.suppress(ConnectionError):
            for _ in range(4000):  # 262 MB
                connection.sendall(piece)
            pytest.fail("all of it was read")
    assert service.get("/health")[0] == 200


def test_no_http_at_all(service: Service) -> None:
    for sent in (
        b"\x16\x03\x01\x00\xff" * 20,
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 99_999,
    ):
        with service.raw() as connection:
            connection.sendall(sent)
            assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
    assert service.get("/health")[0] == 200


def test_a_monitor_asks_for_heads(service: Service) -> None:
    for path in ("/", "/health", "/metrics", "/docs"):
        assert asyncio.run(service.ask("HEAD", path)) == (200, b"")
    assert asyncio.run(service.ask("HEAD", "/translate")) == (405, b"")
    assert service.counted('hanyi_requests_total{method="HEAD",path="/health",status="200"}') == 1


def test_bodies_and_clients_that_do_not_come(model: Path, root: Path) -> None:
    # An idle model that waits long for further texts is as good as a busy one.
    with serving(model, root, "--gather", "60", "--timeout", "5") as service:
        with service.raw() as connection:
            connection.sendall(request("POST", "/translate", b"{" * 50)[:-10])
            assert received(connection)[1]["error"]["code"] == "body_too_slow"
        with service.raw() as connection:
            connection.sendall(request("POST", "/translate", json.dumps({"text": TINY}).encode()))
            wait_for(lambda: service.counted("hanyi_queue_texts") == 1)
        wait_for(lambda: service.counted("hanyi_queue_texts") == 0)
        assert service.counted('hanyi_rejected_total{code="gone"}') == 1


def test_it_stops_in_good_order(model: Path, root: Path) -> None:
    with serving(model, root, "--gather", "2") as service:
        with service.raw() as connection, service.raw() as idle:
            connection.sendall(request("POST", "/translate", json.dumps({"text": TINY}).encode()))
            wait_for(lambda: service.counted("hanyi_queue_texts") == 1)
            service.stop(signal.SIGTERM)
            wait_for(lambda: service.get("/health")[0] == 503)
            status, found = service.translate(text=TINY)
            assert (status, found["error"]["code"]) == (503, "unavailable")
            status, found = received(connection)
            assert status == 200
            assert len(found["translations"]) == 1
            assert service.process.wait(10) == 0
            assert idle.recv(1) == b""
        assert service.process.stderr is not None
        assert service.process.stderr.read() == ""


def test_a_second_signal_ends_at_once(model: Path, root: Path) -> None:
    with serving(model, root, "--gather", "60") as service, service.raw() as connection:
        connection.sendall(request("POST", "/translate", json.dumps({"text": TINY}).encode()))
        wait_for(lambda: service.counted("hanyi_queue_texts") == 1)
        service.stop(signal.SIGINT)
        wait_for(lambda: service.get("/health")[0] == 503)
        service.stop(signal.SIGINT)
        service.process.wait(10)
