"""A bar on a terminal, few log lines elsewhere."""

from __future__ import annotations

import logging

import pytest
from rich.console import Console

from hanyi import progress as module
from hanyi.progress import progress


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
    assert caplog.messages[0] == "decode: 5 of 40 rows, 35 s left"
    assert caplog.messages[-1] == "decode: 40 of 40 rows, 0 s left"
    assert len(caplog.messages) == 8


def test_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        module, "Console", lambda **options: Console(**options, force_terminal=True, width=100)
    )
    with progress("decode", 40, "rows") as advance:
        advance(10)
        advance(30)
    captured = capsys.readouterr()
    assert not captured.out
    assert "decode" in captured.err
    assert "40/40" in captured.err
