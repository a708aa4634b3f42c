"""A bar on a terminal, few log lines elsewhere."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from rich.console import Console

from hanyi import progress as module
from hanyi.progress import clock, on_terminal, progress
from hanyi.training import report
from hanyi.training.report import Reporter


def test_log_lines_come_every_few_seconds(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    caplog.set_level(logging.INFO, "hanyi.progress")
    with progress("decode", 40, "rows") as advance:
        for _ in range(40):
            now[0] += 1
            advance(1)
    assert caplog.messages[0] == "decode: 5 of 40 rows, 0:35 left"
    assert caplog.messages[-1] == "decode: 40 of 40 rows, 0:00 left"
    assert len(caplog.messages) == 8


def test_a_loop_without_a_total_tells_how_far_it_is(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    caplog.set_level(logging.INFO, "hanyi.progress")
    with progress("translate", None, "lines") as advance:
        for _ in range(6):
            now[0] += 1
            advance(10)
    assert caplog.messages == ["translate: 50 lines"]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let standard error pass for a terminal."""
    monkeypatch.setattr(module, "on_terminal", lambda: True)
    monkeypatch.setattr(report, "on_terminal", lambda: True)
    monkeypatch.setattr(
        module, "Console", lambda **options: Console(**options, force_terminal=True, width=120)
    )


@contextmanager
def logging_on() -> Iterator[None]:
    """Log as a stage does."""
    root, library = logging.getLogger(), logging.getLogger("hanyi")
    handler, level = logging.StreamHandler(sys.stderr), library.level
    handler.setFormatter(logging.Formatter("stage: %(message)s"))
    before, root.handlers = root.handlers, [handler]  # others may hold a stream that is closed
    library.setLevel(logging.INFO)
    yield
    root.handlers = before
    library.setLevel(level)


def colourless(text: str) -> str:
    """Give what a terminal shows without its colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@pytest.mark.usefixtures("terminal")
def test_bar_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("decode", 40, "rows") as advance:
        advance(10)
        advance(30)
    captured = capsys.readouterr()
    assert not captured.out
    assert "decode" in captured.err
    assert "40/40 rows, 0:00 left" in colourless(captured.err)


@pytest.mark.usefixtures("terminal")
def test_log_lines_go_above_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        with progress("decode", 40, "rows") as advance:
            advance(10)
            logging.getLogger("hanyi.decoding").warning("a row is [odd]")
            raise ValueError("done")

    with logging_on():
        with pytest.raises(ValueError, match="done"):
            work()
        logging.getLogger("hanyi.decoding").warning("after it")
    lines = capsys.readouterr().err.splitlines()
    assert sum(line.endswith("stage: a row is [odd]") for line in lines) == 1
    assert lines[-1].endswith("stage: after it")
    # The bar is wiped off before the line and drawn again behind it, else it would stay in between.
    before = next(line for line in lines if "a row is [odd]" in line)
    assert "\x1b[2K" in before.partition("stage")[0]
    assert "\x1b[?25h" in "".join(lines), "the cursor must come back"


@pytest.mark.parametrize(
    ("term", "tty", "expected"),
    [("xterm", True, True), ("dumb", True, False), ("xterm", False, False), ("", True, False)],
)
def test_a_bar_needs_a_terminal_that_moves_its_cursor(
    term: str, tty: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: tty, raising=False)
    monkeypatch.setenv("TERM", term)
    assert on_terminal() == expected


def train_a_little(reporter: Reporter, now: list[float]) -> None:
    """Tell of 40 updates, each of half a second, 100 tokens and a loss of 3.0."""
    reporter.start(step=20, total=60)
    for step in range(30, 61, 10):
        now[0] += 5
        reporter.look(step, epoch=2, loss_sum=3000.0, tokens=1000, rate=0.001)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let time stand still until a test moves it."""
    value = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: value[0])
    return value


def test_training_in_lines(caplog: pytest.LogCaptureFixture, now: list[float]) -> None:
    caplog.set_level(logging.INFO, "hanyi.training")
    seen: list[tuple[int, dict[str, float]]] = []
    reporter = Reporter(lambda values, step: seen.append((step, dict(values))), padding=0.077)
    with reporter.shown():
        train_a_little(reporter, now)
    assert caplog.messages[0] == (
        "update 30 of 60, epoch 2: loss 3.000, learning rate 0.001, 200 target tokens/s, "
        "padding 7.7%, 0:15 left"
    )
    assert len(caplog.messages) == 4
    assert [step for step, _ in seen] == [50]
    assert seen[0][1]["train_loss"] == 3.0


@pytest.mark.usefixtures("terminal")
def test_training_on_a_bar(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, now: list[float]
) -> None:
    caplog.set_level(logging.INFO, "hanyi.training")
    reporter = Reporter(lambda values, step: None, padding=0.077)
    with reporter.shown():
        train_a_little(reporter, now)
    shown = colourless(capsys.readouterr().err)
    assert "30/60 updates, loss 3.000, 200 target tokens/s, padding 7.7%, 0:15 left" in shown
    assert "60/60 updates" in shown
    assert not caplog.messages, "the bar is there instead"


def test_only_skipped_updates_have_no_loss(
    caplog: pytest.LogCaptureFixture, now: list[float]
) -> None:
    caplog.set_level(logging.INFO, "hanyi.training")
    reporter = Reporter(lambda values, step: None, padding=0.0)
    reporter.start(0, 100)
    now[0] += 5
    reporter.look(50, epoch=1, loss_sum=0.0, tokens=0, rate=0.001)
    assert "loss nan" in caplog.text


@pytest.mark.parametrize(
    ("seconds", "text"), [(5, "0:05"), (65.4, "1:05"), (7207, "2:00:07"), (180000, "50:00:00")]
)
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text
