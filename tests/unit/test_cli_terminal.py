"""The real program between real pipes and on a real terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hanyi import cli
from hanyi.translator import Translator
from tests.models import save_tiny_model, tiny_tokenizers

PROGRAM = [sys.executable, "-c", "from hanyi.cli import app; app()", "translate"]
TEXT = "我爱你。"
SECONDS = 60  # that an answer may take on a busy machine


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    folder = tmp_path_factory.mktemp("project")
    pair = tiny_tokenizers(folder / "models" / "tokenizers")
    save_tiny_model(folder / "models" / "transformer", *pair)
    params = (root / "params.yaml").read_text(encoding="utf-8")
    (folder / "params.yaml").write_text(params, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def line(project: Path) -> str:
    """Give the translation of the text."""
    (found,) = Translator.load(project, device="cpu").translate([TEXT])
    return " ".join(found.text.split())


@contextmanager
def started(project: Path, *arguments: str, **streams: object) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(cli.__file__).parents[2]),
        "HANYI_DEVICE": "cpu",
        "TERM": "xterm",
        "PYTHONUTF8": "1",
    }
    process = subprocess.Popen([*PROGRAM, *arguments], cwd=project, env=environment, **streams)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def read_until(number: int, wanted: str) -> str:
    """Read from a file until it has said something; fail when it does not."""
    heard, deadline = b"", time.monotonic() + SECONDS
    while wanted not in heard.decode("utf-8", "ignore"):
        assert select.select([number], [], [], max(0, deadline - time.monotonic()))[0], heard
        try:
            piece = os.read(number, 4096)
        except OSError:  # a terminal whose other side is gone
            piece = b""
        assert piece, heard
        heard += piece
    return heard.decode("utf-8", "ignore")


PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def test_lines_are_answered_as_they_come_until_ctrl_c(project: Path, line: str) -> None:
    with started(project, **PIPES) as process:
        for _ in range(2):
            process.stdin.write(f"{TEXT}\n".encode())
            process.stdin.flush()
            assert read_until(process.stdout.fileno(), "\n") == f"{line}\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
        assert b"Traceback" not in process.stderr.read()


def test_a_reader_who_has_enough_ends_it_quietly(project: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text(f"{TEXT}\n" * 20_000, encoding="utf-8")
    with started(project, "-i", str(texts), "--beams", "1", **PIPES) as process:
        read_until(process.stdout.fileno(), "\n")
        process.stdout.close()
        assert process.wait(SECONDS) == 1
        told = process.stderr.read().decode("utf-8")
        assert not [row for row in told.splitlines() if "cut at the limit" not in row]


def test_a_prompt_on_a_terminal(project: Path, line: str) -> None:
    ours, theirs = pty.openpty()
    with started(project, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        assert "Ctrl-D ends" in read_until(ours, "zh-en> ")
        for _ in range(2):
            os.write(ours, f"{TEXT}\n".encode())
            assert line in read_until(ours, "zh-en> ")
        os.write(ours, b"\n")
        assert process.wait(SECONDS) == 0
    os.close(ours)


def test_a_bar_on_a_terminal(project: Path, line: str, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text(f"{TEXT}\n" * 12, encoding="utf-8")
    ours, theirs = pty.openpty()
    files = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": theirs}
    with started(project, "-i", str(texts), **files) as process:
        os.close(theirs)
        assert process.stdout.read().decode("utf-8") == f"{line}\n" * 12
        read_until(ours, "12/12")
        assert process.wait(SECONDS) == 0
    os.close(ours)


def test_a_place_that_cannot_be_written_is_one_line() -> None:
    done = CliRunner().invoke(cli.app, ["pictures", "-o", "/proc/nowhere/pictures"])
    assert done.exit_code == 2
    assert done.stderr.startswith("hanyi: error: /proc/nowhere")
    assert len(done.stderr.splitlines()) == 1
