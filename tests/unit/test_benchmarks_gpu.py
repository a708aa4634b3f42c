"""The benchmark for a GPU runs through on a CPU, so that no minute of a GPU is lost to a slip."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.gpu import main


def test_the_rehearsal_checks_measures_and_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OUT", str(tmp_path))
    assert main(["--cpu-rehearsal"]) == 0
    shown = capsys.readouterr().out
    assert "**no**" not in shown
    for part in ("## Checks", "## Speed", "## Training", "| score.bleu.score |"):
        assert part in shown
    told = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))
    assert all(check["holds"] for check in told["checks"])
    assert {speed["model"] for speed in told["speeds"]} == {"small", "base"}
    assert all(speed["tokens_per_second"] > 0 for speed in told["speeds"])
    assert told["training"]["metrics"]["train.steps"] == 12


def test_without_a_gpu_the_rehearsal_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit):
        main([])
    assert "--cpu-rehearsal" in capsys.readouterr().err
