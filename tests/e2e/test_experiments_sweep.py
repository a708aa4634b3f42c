"""A sweep with real dvc: queued, run side by side, the same figures in table, DVC and MLflow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import First
from tests.e2e.rows import Rows, experiments, numbers

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SWEEP = (".venv/bin/python", "-m", "stages.sweep")
SEARCH = ("decode.length_penalty=0.1..2.0 log", "decode.beam_size=1,2", "--random", "2")
METRICS = ("score/bleu.score", "score/chrf.score")


def test_a_sweep_ends_in_a_table(first: First, tmp_path: Path) -> None:
    workspace = first.copy.copy(tmp_path / "work")
    done = workspace.run(*SWEEP, *SEARCH, "--jobs", "2", "--markdown", HANYI_TRACKING=None)
    head, _, *table = [line.strip("| ").split(" | ") for line in done.out.splitlines()]
    assert head == ["experiment", "decode.length_penalty", "decode.beam_size", *METRICS]
    assert len(table) == 2
    scores = [float(line[3]) for line in table]
    assert scores == sorted(scores, reverse=True)
    rows, known = Rows.of_project(workspace), experiments(workspace)
    assert rows.names() == sorted(known) == sorted(line[0] for line in table)
    for name, penalty, beams, *figures in table:
        assert name == f"lp{penalty}-bs{beams}"
        shown, row = numbers(known[name]), rows.of(name)
        assert [str(shown[metric]) for metric in METRICS] == figures
        assert {metric: row.data.metrics.get(metric) for metric in shown} == shown
        assert row.data.params["decode.length_penalty"] == penalty
        assert row.data.params["decode.beam_size"] == beams
    again = workspace.run(*SWEEP, *SEARCH, "--markdown")
    assert "queued" not in again.err
    assert again.out == done.out
    assert workspace.run("git", "status", "--porcelain").out == "", (
        "the workspace is left as it was"
    )
