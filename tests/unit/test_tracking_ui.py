from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hanyi.errors import ArtifactError, ParamsError
from hanyi.tracking import mirror, publish, ui


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Stand in a project whose rows are complete; give what is executed in the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.setattr(publish, "publish", lambda root: iter(["brave-fox: added"]))
    monkeypatch.setattr(mirror, "Store", lambda root: SimpleNamespace(experiment="7"))
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(os, "execve", lambda *arguments: calls.append(arguments))
    return calls


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def free() -> int:
    """Give a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_it_says_where_to_look_and_becomes_the_page(
    started: list[tuple[Any, ...]], free: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ui.main(["--port", str(free)])
    said = capsys.readouterr().err
    assert "ui: brave-fox: added\n" in said
    assert f"ui: look at http://127.0.0.1:{free}/#/experiments/7/runs" in said
    ((_, command, environment),) = started
    assert command[1:6] == ["-m", "mlflow", "ui", "--backend-store-uri", f"sqlite:///{tmp_path}/mlflow.db"]  # fmt: skip  # noqa: E501
    assert command[command.index("--port") + 1] == str(free)
    assert environment["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] == "false"
    assert environment["MLFLOW_DISABLE_TELEMETRY"] == "true"


def test_a_port_in_use_is_one_line(started: list[tuple[Any, ...]], port: int) -> None:
    with pytest.raises(ParamsError, match=rf"port {port}: address already in use.*make ui PORT="):
        ui.main(["--port", str(port)])
    assert started == []


def test_a_server_has_a_page_of_its_own(
    started: list[tuple[Any, ...]],
    port: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://host:8000/")
    ui.main(["--port", str(port)])
    assert "ui: the runs are at http://host:8000/#/experiments/7/runs" in capsys.readouterr().err
    assert started == []


def test_what_cannot_be_published_is_a_warning(
    started: list[tuple[Any, ...]],
    free: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(root: Path) -> Iterator[str]:
        raise ArtifactError("dvc", "broken", "a project", "mend it")

    monkeypatch.setattr(publish, "publish", fail)
    ui.main(["--port", str(free)])
    assert "ui: warning: dvc: broken" in capsys.readouterr().err
    assert len(started) == 1
