"""How the service is started: addresses, options, what it says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from hanyi.cli import app
from hanyi.errors import ParamsError
from hanyi.service import server
from hanyi.service.server import is_loopback, listen, url_of
from tests.models import save_tiny_model, tiny_tokenizers


@pytest.mark.parametrize(
    ("host", "loopback", "url"),
    [
        ("127.0.0.1", True, "http://127.0.0.1:"),
        ("localhost", True, "http://"),
        ("127.9.9.9", True, "http://127.9.9.9:"),
        ("0.0.0.0", False, "http://0.0.0.0:"),  # where nobody listens yet
    ],
)
def test_addresses(host: str, loopback: bool, url: str) -> None:
    with listen(host, 0) as taken:
        assert is_loopback(taken) is loopback
        assert url_of(taken).startswith(url)
        assert url_of(taken).rpartition(":")[2] == str(taken.getsockname()[1])


def test_the_new_protocol() -> None:
    try:
        taken = listen("::1", 0)
    except ParamsError:
        pytest.skip("this machine has no IPv6")
    with taken:
        assert is_loopback(taken)
        assert url_of(taken).startswith("http://[::1]:")


@pytest.mark.parametrize("host", ["192.0.2.1", "a..b", "x" * 300])
def test_addresses_that_cannot_be_had(host: str) -> None:
    with pytest.raises(ParamsError, match="expected a free address; choose another"):
        listen(host, 0)


def test_an_address_that_is_taken() -> None:
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ParamsError, match=f"--host 127.0.0.1 --port {port}"):
            listen("127.0.0.1", port)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    home = tmp_path_factory.mktemp("model")
    save_tiny_model(home / "transformer", *tiny_tokenizers(home / "tokenizers"))
    return str(home)


def serve(*options: str) -> Any:
    return CliRunner().invoke(app, ["serve", "--port", "0", "--device", "cpu", *options])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "192.0.2.1"], "--host 192.0.2.1 --port 0: [Errno"),
        (["--queue", "5"], "limits: --queue must be at least 64, got 5"),
        (["--max-body", "0"], "limits: --max-body must be at least 1, got 0"),
        (["--timeout", "nan"], "limits: --timeout must be over 0, got nan"),
        (["--model", "no/where"], "no/where"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = serve(*options)
    assert done.exit_code == 2
    assert done.stderr.startswith("hanyi: error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_who_can_reach_it_is_told(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr(server, "run", lambda made, _taken: started.append(made))
    said = serve("--model", model).stderr.splitlines()
    assert len(said) == 1
    assert said[0].startswith("http://127.0.0.1:")
    said = serve("--model", model, "--host", "0.0.0.0", "--batch", "1").stderr.splitlines()
    assert said[0].startswith("warning: http://0.0.0.0:")
    assert len(said) == 2
    assert [one.state.service.limits.batch_texts for one in started] == [32, 1]


@pytest.mark.parametrize("at_work", [False, True])
def test_python_does_not_end_under_a_batch(
    at_work: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    left: list[int] = []
    monkeypatch.setattr(server.Server, "run", lambda *_, **__: None)
    monkeypatch.setattr(server.os, "_exit", left.append)
    service = SimpleNamespace(batcher=SimpleNamespace(at_work=at_work))
    with listen("127.0.0.1", 0) as taken:
        server.run(SimpleNamespace(state=SimpleNamespace(service=service)), taken)  # type: ignore[arg-type]
    assert left == [0] * at_work
    assert ("a batch was not translated in time" in caplog.text) == at_work
