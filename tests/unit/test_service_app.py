"""The service's answers, with a tiny model: what is asked, what is refused, what is counted."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from hanyi import __version__
from hanyi.decoding.config import PLAIN
from hanyi.service.faults import CODES
from hanyi.service.limits import USUAL
from hanyi.translator import Translator
from tests.service import TINY, Held, client, tiny_translator

SHORT = replace(USUAL, texts=4, chars=200, body_bytes=4000, beams=6, gather_seconds=0.0)
TEXTS = [TINY, "", "你好吗？", "他们很好。"]
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return tiny_translator(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def http(translator: Translator) -> Iterator[TestClient]:
    with client(translator, SHORT) as made:
        yield made


@pytest.fixture
def held(translator: Translator) -> Iterator[Held]:
    made = Held(translator)
    yield made
    made.free.set()


def error(answer: Any, status: int) -> str:
    """Give the message of an error of the one shape."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()
    assert found.keys() == {"error"}
    assert found["error"].keys() == {"code", "message"}
    assert found["error"]["code"] == CODES[status]
    assert "\n" not in found["error"]["message"]
    return str(found["error"]["message"])


def ask(http: TestClient, **asked: Any) -> Any:
    return http.post("/translate", json=asked)


def events(text: str) -> list[tuple[str, Any]]:
    """Read server-sent events: name and data."""
    assert text.endswith("\n\n")
    found = []
    for block in text[:-2].split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((lines.get("event", "message"), json.loads(lines["data"])))
    return found


def test_translations_are_those_of_the_translator(http: TestClient, translator: Translator) -> None:
    expected = [one.text for one in translator.translate(TEXTS)]
    answer = ask(http, text=TEXTS).json()
    assert [one["text"] for one in answer["translations"]] == expected
    assert answer["model"] == translator.described.weights
    assert answer["translations"][0].keys() == {"text", "finished", "parts", "unmet", "warnings"}
    alone = ask(http, text=TEXTS[0]).json()["translations"]
    assert alone == answer["translations"][:1]
    assert ask(http, text=[]).json()["translations"] == []


def test_what_is_asked_for_is_given(http: TestClient, translator: Translator) -> None:
    search = replace(PLAIN, beam_size=5, n_best=3)
    (expected,) = translator.translate([TINY], search, alignment=True)
    asked = {"beam_size": 5, "n_best": 3, "scores": True, "alignment": True}
    (found,) = ask(http, text=TINY, **asked).json()["translations"]
    assert [one["text"] for one in found["n_best"]] == [one.text for one in expected.n_best]
    assert found["log_prob"] == pytest.approx(expected.log_prob)
    assert found["score"] == pytest.approx(expected.score)
    for name in ("tokens", "src_tokens", "alignment"):
        assert found[name] == getattr(expected, name)
    assert len(ask(http, text=TINY, n_best=6).json()["translations"][0]["n_best"]) == 6
    (greedy,) = ask(http, text=TINY, beam_size=1).json()["translations"]
    assert greedy["text"] == translator.translate([TINY], replace(PLAIN, beam_size=1))[0].text


def test_long_texts_say_in_how_many_parts(http: TestClient) -> None:
    (found,) = ask(http, text=TINY * 5).json()["translations"]
    assert found["parts"] > 1
    assert found["warnings"][:1] == [f"more than 8 tokens, translated in {found['parts']} parts"]


def test_a_stream_gives_pieces_and_then_the_whole(http: TestClient, translator: Translator) -> None:
    for text in (TINY, TINY * 5, ""):
        answer = ask(http, text=text, stream=True)
        assert answer.headers["content-type"].startswith("text/event-stream")
        *pieces, (name, whole) = events(answer.text)
        assert name == "done"
        assert all(piece[0] == "message" and piece[1].keys() == {"text"} for piece in pieces)
        written = "".join(piece["text"] for _, piece in pieces)
        (expected,) = translator.translate([text], replace(PLAIN, beam_size=1))
        assert written == whole["translations"][0]["text"] == expected.text
        assert whole["model"] == translator.described.weights


def test_a_stream_that_fails_says_so(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __iter__(self) -> Iterator[str]:
            yield "I"
            raise ZeroDivisionError

    with client(held, SHORT) as http:
        monkeypatch.setattr(held, "stream", lambda _text: Broken(), raising=False)
        (_, first), (name, last) = events(ask(http, text=TINY, stream=True).text)
        assert (first, name) == ({"text": "I"}, "error")
        assert last["error"]["code"] == "internal"
        monkeypatch.setattr(held, "stream", lambda _text: iter(1, 1))  # ends without a result
        error(ask(http, text=TINY, stream=True), 500)
        assert http.get("/health").status_code == 200
        assert http.app.state.service.streams.taken == 0


@pytest.mark.parametrize(
    ("asked", "status", "message"),
    [
        ({}, 422, "body.text: field required"),
        ({"text": 5}, 422, "body.text.str: input should be a valid string"),
        ({"text": None}, 422, "body.text.str"),
        ({"text": ["a", 5, 6]}, 422, "body: text.1: int, expected a string"),
        ({"text": "a", "beams": 2, "x": 1}, 422, "body: unknown key beams, expected text, beam"),
        ({"text": "a", "beam_size": "2"}, 422, "body.beam_size: input should be a valid integer"),
        ({"text": "a", "n_best": True}, 422, "body.n_best: input should be a valid integer"),
        ({"text": "a", "scores": 1}, 422, "body.scores: input should be a valid boolean"),
        ({"text": "a", "beam_size": 0}, 422, "body.beam_size"),
        ({"text": "a", "beam_size": 7}, 422, "beam_size: 7, expected at most 6"),
        ({"text": "a", "n_best": 10**30}, 422, "n_best"),
        ({"text": "a", "n_best": 3, "beam_size": 2}, 422, "n_best must be from 1 to beam_size"),
        ({"text": ["a"], "stream": True}, 422, "text: a list, expected one text in a stream"),
        ({"text": "a", "stream": True, "n_best": 2}, 422, "stream: together with n_best"),
        ({"text": ["a"] * 5}, 413, "text: 5 texts, expected at most 4"),
        ({"text": "我" * 201}, 413, "text: 201 characters, expected at most 200"),
        ({"text": ["我" * 101, "我" * 100]}, 413, "text: 201 characters, expected at most 200"),
        ({"text": "我" * 201, "stream": True}, 413, "text: 201 characters"),
        ({"text": "a" * 4000}, 413, "body: over 4,000 bytes, expected at most 4,000"),
    ],
)
def test_what_cannot_be_done_is_refused(
    http: TestClient, asked: dict[str, Any], status: int, message: str
) -> None:
    assert message in error(ask(http, **asked), status)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"", JSON, 422),
        (b"", {}, 415),
        (b'{"text": "a"', JSON, 400),
        (b"\xff\xfe{}", JSON, 400),
        (b'{"text": "\xff"}', JSON, 400),
        (b"[" * 3000, JSON, 400),
        (b'{"text":' * 400 + b"1" + b"}" * 400, JSON, 422),
        (b'{"text": ' + b"9" * 3900 + b"}", JSON, 422),
        (b'{"text": NaN}', JSON, 422),
        (b'{"text": "a", "beam_size": 1e400}', JSON, 422),
        (b'{"text": "\\ud800"}', JSON, 422),
        (b'{"\\ud800": "a"}', JSON, 422),
        (b'["a"]', JSON, 422),
        (b"null", JSON, 422),
        (b'{"text": "a"}', {"Content-Type": "text/plain"}, 415),
        (b'{"text": "a"}', {}, 415),
        (b"text=a", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        (b"--x--", {"Content-Type": "multipart/form-data; boundary=x"}, 415),
    ],
)
def test_bodies_that_are_none(
    http: TestClient, body: bytes, headers: dict[str, str], status: int
) -> None:
    error(http.post("/translate", content=body, headers=headers), status)


@pytest.mark.parametrize(
    "text", ["\0\x01\x1b[31m\x7f", "\u2028\u202e\ufeff", "🇨🇳" * 9, "a\r\nb", " "]
)
def test_every_character_is_a_text(http: TestClient, text: str) -> None:
    answer = ask(http, text=text)
    assert answer.status_code == 200
    assert len(answer.json()["translations"]) == 1


def test_paths_and_methods(http: TestClient) -> None:
    assert "/docs" in error(http.get("/nothing"), 404)
    answer = http.get("/translate")
    error(answer, 405)
    assert answer.headers["allow"] == "POST"
    error(http.post("/health", json={}), 405)


def test_health(http: TestClient, translator: Translator) -> None:
    found = http.get("/health").json()
    assert found["live"]
    assert found["ready"]
    assert found["version"] == __version__
    assert found["model"]["digest"] == translator.described.weights
    assert found["model"]["max_tokens"] == 8
    assert found["languages"] == {"src": None, "tgt": None}


def test_metrics(translator: Translator) -> None:
    with client(translator, SHORT) as http:
        ask(http, text=TEXTS)
        error(ask(http, text="我" * 201), 413)
        error(http.get("/so/many/paths"), 404)
        lines = http.get("/metrics").text.splitlines()
    assert "hanyi_texts_total 4.0" in lines
    assert 'hanyi_requests_total{method="POST",path="/translate",status="200"} 1.0' in lines
    assert 'hanyi_requests_total{method="GET",path="other",status="404"} 1.0' in lines
    assert 'hanyi_rejected_total{code="too_large"} 1.0' in lines
    assert 'hanyi_request_seconds_count{path="/translate"} 2.0' in lines
    assert "hanyi_batch_texts_sum 4.0" in lines
    assert "hanyi_queue_texts 0.0" in lines
    assert "hanyi_ready 1.0" in lines


def test_docs_need_no_network(http: TestClient) -> None:
    page = http.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "<script" not in page.text
    assert "src=" not in page.text.replace("--json", "")
    for path in http.get("/openapi.json").json()["paths"]:
        assert f" {path}</code>" in page.text
    assert "n_best[].log_prob" in page.text


def test_a_full_queue_says_when_to_come_again(held: Held) -> None:
    limits = replace(SHORT, queue_texts=4)
    with client(held, limits) as http, ThreadPoolExecutor(2) as threads:
        first = threads.submit(ask, http, text=TINY)
        assert held.begun.acquire(timeout=20)
        others = threads.submit(ask, http, text=[TINY] * 4)
        wait_for(lambda: http.app.state.service.batcher.depth == 4)
        refused = ask(http, text=TINY)
        assert "queue: 4 texts wait and 1 came" in error(refused, 429)
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        held.free.set()
        assert first.result(20).status_code == others.result(20).status_code == 200


def test_time_runs_out(held: Held) -> None:
    with client(held, replace(SHORT, timeout_seconds=0.3)) as http:
        assert "translation: over 0.3 seconds" in error(ask(http, text=TINY), 504)
        refused = ask(http, text=[TINY] * 4)  # the model is still busy with the first
        assert "queue: over 0.3 seconds" in error(refused, 503)
        assert "retry-after" in refused.headers
        assert http.app.state.service.batcher.depth == 0
        held.free.set()
        wait_for(lambda: ask(http, text=TINY).status_code == 200)


def test_streams_have_places(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        result = held.translator.translate([TINY])[0]

        def __iter__(self) -> Iterator[str]:
            assert held.free.wait(20)
            return iter(["I"])

    monkeypatch.setattr(held, "stream", lambda _text: Slow(), raising=False)
    with client(held, replace(SHORT, streams=1)) as http, ThreadPoolExecutor(1) as threads:
        first = threads.submit(ask, http, text=TINY, stream=True)
        wait_for(lambda: http.app.state.service.streams.taken == 1)
        assert "streams: 1 at once" in error(ask(http, text=TINY, stream=True), 429)
        held.free.set()
        assert events(first.result(20).text)[0] == ("message", {"text": "I"})
        wait_for(lambda: http.app.state.service.streams.taken == 0)


@pytest.mark.parametrize("asked", [{"text": [TINY] * 3}, {"text": TINY, "stream": True}])
def test_a_client_that_goes_frees_its_places(
    held: Held, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    class Slow:
        def __iter__(self) -> Iterator[str]:
            assert held.free.wait(20)
            return iter([])

        def close(self) -> None: ...

    monkeypatch.setattr(held, "stream", lambda _text: Slow(), raising=False)
    with client(held, SHORT) as http, ThreadPoolExecutor(1) as threads:
        first = threads.submit(ask, http, text=TINY)
        assert held.begun.acquire(timeout=20)
        service = http.app.state.service
        assert asyncio.run(leave(http.app, asked, service)) == 499
        assert (service.batcher.depth, service.streams.taken, service.active) == (0, 0, 1)
        held.free.set()
        assert first.result(20).status_code == 200


async def leave(app: Any, asked: dict[str, Any], service: Any) -> int:
    """Ask, and go as soon as a place is taken; give the status that nobody reads."""
    body = json.dumps(asked).encode()
    coming = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> Any:
        if coming:
            return coming.pop()
        while not service.batcher.depth + service.streams.taken:
            await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/translate", "headers": headers}
    scope |= {"query_string": b"", "raw_path": b"/translate", "http_version": "1.1"}
    await asyncio.wait_for(app(scope, receive, send), 10)
    return int(sent[0]["status"])


def test_a_service_that_stops_refuses(translator: Translator) -> None:
    with client(translator, SHORT) as http:
        http.app.state.service.stopping = True
        refused = ask(http, text=TINY)
        assert "service: it stops" in error(refused, 503)
        assert refused.headers["retry-after"] == "5"
        health = http.get("/health")
        assert (health.status_code, health.json()["ready"]) == (503, False)


def test_a_bug_is_told_without_its_words(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: Any, **_options: Any) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(held, "translate", broken)
    with client(held, SHORT) as http:
        assert "secret" not in error(ask(http, text=TINY), 500)
        monkeypatch.undo()
        held.free.set()
        assert ask(http, text=TINY).status_code == 200


def wait_for(holds: Callable[[], bool]) -> None:
    """Wait until something holds, for ten seconds at most."""
    for _ in range(500):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError
