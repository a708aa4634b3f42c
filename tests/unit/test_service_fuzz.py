"""Requests at random, made from the OpenAPI description: none may crash the service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from starlette.testclient import TestClient

from hanyi.service.app import create_app
from hanyi.service.faults import CODES
from hanyi.service.limits import USUAL
from hanyi.translator import Translator
from tests.service import TINY, client, tiny_translator

LIMITS = replace(USUAL, chars=200, gather_seconds=0.0)
FUZZ = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return tiny_translator(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def http(translator: Translator) -> Iterator[TestClient]:
    with client(translator, LIMITS) as made:
        yield made


@pytest.fixture(scope="module")
def described(translator: Translator) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", create_app(translator, LIMITS))


@pytest.mark.parametrize(
    ("path", "method", "mode"),
    [
        ("/translate", "POST", GenerationMode.POSITIVE),
        ("/translate", "POST", GenerationMode.NEGATIVE),
        ("/explain", "POST", GenerationMode.POSITIVE),
        ("/explain", "POST", GenerationMode.NEGATIVE),
        ("/health", "GET", GenerationMode.POSITIVE),
        ("/metrics", "GET", GenerationMode.POSITIVE),
    ],
)
def test_answers_are_as_described(
    described: Any, path: str, method: str, mode: GenerationMode
) -> None:
    operation = described[path][method]
    # More is refused than a description can say, such as an n_best over the beam size.
    unsaid = CHECKS.get_by_names(["positive_data_acceptance"])

    @given(case=operation.as_strategy(generation_mode=mode))
    @FUZZ
    def check(case: Any) -> None:
        answer = case.call()
        case.validate_response(answer, excluded_checks=unsaid)
        if answer.status_code >= 400:
            assert answer.json()["error"]["code"] == CODES[answer.status_code]

    check()


json_values = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text(some.characters(codec=None), max_size=20),
    lambda inside: (
        some.lists(inside, max_size=4) | some.dictionaries(some.text(), inside, max_size=4)
    ),
    max_leaves=12,
)
keys = some.sampled_from(["text", "beam_size", "n_best", "scores", "alignment", "stream", "x"])


@given(values=some.dictionaries(keys, json_values, max_size=6) | json_values)
@FUZZ
def test_any_json_is_answered(http: TestClient, values: Any) -> None:
    well_formed(http.post("/translate", content=json.dumps(values).encode(), headers=JSON))


@given(text=some.text(some.characters(codec="utf-8"), max_size=60), beams=some.integers(1, 16))
@FUZZ
def test_any_text_is_translated(http: TestClient, text: str, beams: int) -> None:
    answer = http.post("/translate", json={"text": text, "beam_size": beams})
    assert answer.status_code == 200
    assert len(answer.json()["translations"]) == 1


@given(body=some.binary(max_size=200))
@FUZZ
def test_any_bytes_are_answered(http: TestClient, body: bytes) -> None:
    well_formed(http.post("/translate", content=body, headers=JSON))


@pytest.mark.parametrize(
    "body",
    [
        b'{"text": "' + b"a" * 10_000_000 + b'"}',
        b'{"text": "' + "我".encode() * 300_000 + b'"}',
        b'{"text": [' + b"1," * 300_000 + b"1]}",
        b'{"text": [' + b'"",' * 300_000 + b'""]}',
        b"{" + b",".join(b'"%d": 1' % number for number in range(80_000)) + b"}",
        b"[" * 1_000_000,
        b'{"a":' * 150_000,
        b'{"text": ' + b"9" * 1_000_000 + b"}",
        b'{"text": "' + b"\\u0000" * 150_000 + b'"}',
    ],
    ids=["10 MB", "long", "numbers", "empty texts", "keys", "nested", "objects", "digits", "nul"],
)
def test_huge_bodies_are_refused(http: TestClient, body: bytes) -> None:
    answer = http.post("/translate", content=body, headers=JSON)
    assert well_formed(answer) in {400, 413, 422}
    assert len(answer.content) < 1000
    assert http.post("/translate", json={"text": TINY}).status_code == 200


JSON = {"Content-Type": "application/json"}


def well_formed(answer: Any) -> int:
    """Check the shape of an answer, and give its status, which is none of a bug."""
    assert answer.status_code in {200, 400, 413, 422}, answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        assert "event: done" in answer.text
    elif answer.status_code == 200:
        assert answer.json().keys() == {"model", "translations"}
    else:
        found = answer.json()["error"]
        assert found.keys() == {"code", "message"}
        assert found["code"] == CODES[answer.status_code]
    return int(answer.status_code)
