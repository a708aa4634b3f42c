"""The gate as a person or a runner calls it, on a real build: the good, and each bad change."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.e2e.workspace import Done, Workspace

pytestmark = pytest.mark.slow

HELD = {
    "check.floors": {"bleu.score": 0.0},
    "check.max_drop": {"bleu.score": 0.0, "chrf.score": 0.0},
}


@pytest.fixture
def gated(built: Workspace) -> Workspace:
    """Give a build whose scores are held against something."""
    built.edit(**HELD)
    built.commit("Held")
    return built


def gate(workspace: Workspace, *flags: str, expect: int) -> Done:
    return workspace.run(sys.executable, "-m", "stages.check", "--markdown", *flags, expect=expect)


def test_a_good_build_passes_and_each_bad_change_is_caught(gated: Workspace) -> None:
    good = gate(gated, "--baseline", "HEAD", expect=0)
    assert "| bleu.score |" in good.out
    assert "| ok, 16 pairs for the paired bootstrap |" in good.out
    assert "| lock | dvc.lock | ok, 7 stages |" in good.out

    scores = gated.path / "metrics/score.json"
    before = scores.read_bytes()
    values = json.loads(before)
    values["bleu"]["score"] += 1.0
    scores.write_text(json.dumps(values), encoding="utf-8")
    assert "| metrics/score.json | edited: other bytes than score made" in gate(gated, expect=1).out
    scores.write_bytes(before)

    gated.edit(**{"train.max_steps": 17, "model.layers": 2})
    told = gate(gated, "--lock", expect=1).out
    assert "| train | parameters changed since it was run: model.layers 1 → 2, train.max" in told
    gated.run("git", "checkout", "--quiet", "params.yaml")

    rows = gated.path / "data/decoded/test.jsonl"
    texts = rows.read_text(encoding="utf-8")
    rows.chmod(0o644)
    rows.write_text(texts.replace('"text": "', '"text": "x'), encoding="utf-8")
    assert "`dvc checkout` brings them back" in gate(gated, expect=1).out


def test_a_runner_without_data_or_cache_can_tell(gated: Workspace, tmp_path: Path) -> None:
    runner = Workspace(tmp_path / "runner")
    gated.run("git", "clone", "--quiet", gated.path, runner.path)
    shutil.copytree(gated.path / ".venv", runner.path / ".venv")
    told = gate(runner, "--baseline", "HEAD", expect=0).out
    assert "data/decoded/test.jsonl is not here; allowed drops decide" in told
    lock = runner.path / "dvc.lock"
    text = lock.read_text(encoding="utf-8").splitlines(keepends=True)
    place = text.index("    - path: models/transformer\n")  # first as what decode was run on
    text[place + 2] = f"      md5: {'ab' * 16}.dir\n"
    lock.write_text("".join(text), encoding="utf-8")
    told = gate(runner, "--lock", expect=1).out
    assert "| decode | it was run on another models/transformer than train made" in told


def test_a_worse_model_does_not_pass(gated: Workspace) -> None:
    # Half a token a source token leaves nothing of a translation: a real run of decode and score.
    gated.edit(**{"decode.max_length_ratio": 0.1, "decode.max_length_offset": 1})
    gated.dvc("repro")
    told = gate(gated, "--baseline", "HEAD", "--lock", expect=0).out
    assert "ok, 7 stages" in told
    assert "| significantly worse |" in gate(gated, "--baseline", "HEAD", expect=1).out
