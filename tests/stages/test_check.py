from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hanyi.errors import HanyiError, ParamsError
from stages.check import main

PARAMS = """\
check:
  floors: {bleu.score: 20.0, chrf.score: 30.0}
  baseline: null
  max_drop: {bleu.score: 1.0}
"""
Write = Callable[[float, float], None]


def git(*arguments: str) -> None:
    names = {
        f"GIT_{who}_{what}": "a@b.c"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    subprocess.run(
        ["git", *arguments], check=True, capture_output=True, env={**os.environ, **names}
    )


def scores(bleu: Any, chrf: Any, signature: str = "one") -> None:
    parts = {
        "bleu": {"score": bleu, "signature": signature},
        "chrf": {"score": chrf, "signature": signature},
    }
    Path("metrics").mkdir(exist_ok=True)
    Path("metrics/score.json").write_text(json.dumps(parts))


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a folder below the repository's top, whose first commit has no scores."""
    folder = tmp_path / "below"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    Path("params.yaml").write_text(PARAMS)
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "no scores")
    git("tag", "empty")
    scores(30.0, 50.0)
    git("add", ".")
    git("commit", "-qm", "scores")
    return folder


def test_scores_over_their_floors_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    table = capsys.readouterr().out
    assert "bleu.score" in table
    assert "30.000" in table
    assert max(map(len, table.splitlines())) <= 80


def test_a_score_under_its_floor_stops(capsys: pytest.CaptureFixture[str]) -> None:
    scores(30.0, 29.5)
    assert main([]) == 1
    assert "under floor" in capsys.readouterr().out


@pytest.mark.parametrize("value", [None, "high", float("nan"), float("inf")])
def test_a_missing_or_unreal_score_stops(value: Any, capsys: pytest.CaptureFixture[str]) -> None:
    scores(value, 50.0)
    assert main([]) == 1
    out = capsys.readouterr().out
    assert ("not finite" if isinstance(value, float) else "missing") in out


def test_a_fall_stops_and_the_flag_overrides(capsys: pytest.CaptureFixture[str]) -> None:
    scores(28.5, 50.0)
    assert main([]) == 0
    assert main(["--baseline", "main"]) == 1
    assert "fell" in capsys.readouterr().out
    Path("params.yaml").write_text(PARAMS.replace("baseline: null", "baseline: main"))
    assert main([]) == 1
    scores(29.0, 50.0)
    assert main([]) == 0


def test_another_signature_stops(capsys: pytest.CaptureFixture[str]) -> None:
    scores(30.0, 50.0, signature="two")
    assert main(["--baseline", "HEAD"]) == 1
    assert "other signature" in capsys.readouterr().out


@pytest.mark.parametrize("drops", ["{}", "{bleu.score: 1.0}"])
def test_a_gate_that_checks_nothing_is_no_gate(drops: str) -> None:
    Path("params.yaml").write_text(f"check: {{floors: {{}}, baseline: null, max_drop: {drops}}}\n")
    with pytest.raises(ParamsError, match="check: no floors, and no baseline with a max_drop"):
        main([])
    if drops != "{}":
        assert main(["--baseline", "main"]) == 0


def test_markdown_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--markdown", "--baseline", "main"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| metric | value | floor | baseline | max drop | verdict |"
    assert lines[2] == "| bleu.score | 30.000 | 20.000 | 30.000 | 1.000 | ok |"
    assert lines[3] == "| chrf.score | 50.000 | 30.000 | - | - | ok |"


@pytest.mark.parametrize(
    ("revision", "part"),
    [
        ("nowhere", "baseline: no revision nowhere"),
        ("--help", "baseline: no revision --help"),
        ("empty", "empty:metrics/score.json: no such file"),
    ],
)
def test_a_baseline_that_cannot_be_read_is_one_line(revision: str, part: str) -> None:
    with pytest.raises(HanyiError) as caught:
        main([f"--baseline={revision}"])
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_scores_that_cannot_be_read_are_one_line(text: str | None) -> None:
    path = Path("metrics/score.json")
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(HanyiError, match=r"metrics/score\.json"):
        main([])


def test_exit_codes(root: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(root)}

    def run(*flags: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "stages.check", *flags]
        return subprocess.run(command, capture_output=True, env=env, text=True, check=False)

    assert run("--baseline", "main").returncode == 0
    scores(1.0, 50.0)
    assert run().returncode == 1
    bad = run("--baseline", "nowhere")
    assert bad.returncode == 2
    assert bad.stdout == ""
    assert bad.stderr.count("\n") == 1
