"""The routes of the page: what is asked comes back as it is; faults in the shape of all errors."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from hanyi.explain import describe, explain, page
from hanyi.service.app import create_app
from hanyi.service.limits import USUAL
from hanyi.translator import Translator
from hanyi.translator.settings import OUTSIDE
from tests.models import save_tiny_model, tiny_tokenizers

TEXT = "我爱你。"


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    root = tmp_path_factory.mktemp("served")
    pair = tiny_tokenizers(root / "models" / "tokenizers")
    save_tiny_model(root / "models" / "transformer", *pair)
    return Translator.load(root, device="cpu")


@pytest.fixture(scope="module")
def client(translator: Translator) -> Iterator[TestClient]:
    with TestClient(create_app(translator, USUAL), base_url="http://127.0.0.1") as made:
        yield made


def test_the_page_is_that_of_the_model(client: TestClient, translator: Translator) -> None:
    answer = client.get("/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.text == page({**describe(translator), "most_beams": USUAL.beams})


@pytest.mark.parametrize("beams", [None, 1, 3])
def test_a_sentence_is_explained(
    client: TestClient, translator: Translator, beams: int | None
) -> None:
    asked = {"text": TEXT} | ({} if beams is None else {"beam_size": beams})
    answer = client.post("/explain", json=asked)
    assert answer.status_code == 200
    search = beams and replace(translator.config, beam_size=beams, n_best=1)
    assert answer.json() == json.loads(json.dumps(explain(translator, TEXT, search or None)))


@pytest.mark.parametrize(
    "asked",
    [
        {"text": ""},
        {"text": TEXT * 20},
        {"text": "我" * 20_000},
        {"text": "a\ud800"},
        {"text": TEXT, "beam_size": 0},
        {"text": TEXT, "beam_size": 17},
        {"text": TEXT, "beam_size": "2"},
        {"text": TEXT, "colour": "red"},
        {"text": [TEXT]},
        {},
    ],
)
def test_what_is_wrong_is_told(client: TestClient, asked: dict[str, object]) -> None:
    answer = client.post(
        "/explain", content=json.dumps(asked).encode(), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in {400, 422}
    assert set(answer.json()) == {"error"}
    assert set(answer.json()["error"]) == {"code", "message"}


def test_a_beam_that_cannot_be_is_told(tmp_path: Path) -> None:
    pair = tiny_tokenizers(tmp_path / "models" / "tokenizers")
    save_tiny_model(tmp_path / "models" / "transformer", *pair)
    config = replace(OUTSIDE, engine="torch", beam_groups=2)
    translator = Translator.load(tmp_path, device="cpu", config=config)
    with TestClient(create_app(translator, USUAL), base_url="http://127.0.0.1") as client:
        answer = client.post("/explain", json={"text": TEXT, "beam_size": 3})
        assert answer.status_code == 422
        assert "beam_groups must divide beam_size" in answer.json()["error"]["message"]
        assert client.post("/explain", json={"text": TEXT, "beam_size": 4}).status_code == 200


def test_limits_are_those_of_the_service(translator: Translator) -> None:
    limits = replace(USUAL, chars=9, beams=2)
    with TestClient(create_app(translator, limits), base_url="http://127.0.0.1") as client:
        refused = client.post("/explain", json={"text": "我" * 10})
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")
        assert client.post("/explain", json={"text": TEXT, "beam_size": 3}).status_code == 422
        assert client.post("/explain", json={"text": TEXT, "beam_size": 2}).status_code == 200
        assert client.post("/explain", json={"text": TEXT}).status_code == 200, "the model's own"
        assert '"most_beams":2' in client.get("/").text


def test_time_runs_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = tiny_tokenizers(tmp_path / "models" / "tokenizers")
    save_tiny_model(tmp_path / "models" / "transformer", *pair)
    one_thread = replace(OUTSIDE, engine="torch")
    translator = Translator.load(tmp_path, device="cpu", config=one_thread)
    free = threading.Event()

    def slow(*_: object) -> dict[str, object]:
        assert free.wait(20)
        return {}

    monkeypatch.setattr("hanyi.service.page.explain", slow)
    app = create_app(translator, replace(USUAL, timeout_seconds=0.3))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        assert client.post("/explain", json={"text": TEXT}).status_code == 504
        waiting = client.post("/explain", json={"text": TEXT})  # the thread is still busy
        assert waiting.status_code == 503
        assert "Retry-After" in waiting.headers
        assert app.state.service.streams.taken == 0
        free.set()
        assert client.post("/explain", json={"text": TEXT}).status_code == 200
