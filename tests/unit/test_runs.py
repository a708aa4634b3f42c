"""`hanyi runs`: saved states are listed, shown and removed, without torch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import Result
from typer.testing import CliRunner

from hanyi import cli
from hanyi.cli import app
from hanyi.runs import COLUMNS, list_runs
from hanyi.training.state import StateFolder, state_root

OLD, NEW, BEGUN = "a1" * 16, "a2" * 16, "b3" * 16
HISTORY = [
    {"step": 4, "epoch": 1, "chrf": 30.25, "valid_loss": 2.5, "samples": ["x"], "corpora": {}},
    {"step": 8, "epoch": 2, "chrf": 28.5, "valid_loss": 2.25, "samples": ["x"], "corpora": {}},
]


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make three runs: one of three days ago, one of now, one without a saved state."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    for name, select in ((OLD, "chrf"), (NEW, "loss"), (BEGUN, "loss")):
        state = StateFolder(state_root() / name)
        with state.locked():
            state.describe({"sections": {"train": {"select": select, "seed": 7}}, "steps": 2400})
            if name != BEGUN:
                progress: dict[str, Any] = {"epoch": 1, "history": HISTORY}
                state.save(8, {"weights": torch.zeros(1 << 18), "progress": progress})
    then = time.time() - 3 * 86_400
    os.utime(state_root() / OLD / "step-000000008", (then, then))
    return state_root()


def hanyi(*arguments: str, text: str = "") -> Result:
    return CliRunner().invoke(app, ["runs", *arguments], input=text)


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_lists_the_newest_first() -> None:
    done = hanyi()
    assert done.exit_code == 0
    header, *rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert tuple(header) == COLUMNS
    by_name = {row[0]: row[1:] for row in rows}
    assert rows[-1] == [
        "a1a1a1a1",
        "8",
        "2400",
        "2",
        "chrf 30.25",
        "1.0",
        "3.0 days ago",
        "stopped",
    ]
    assert by_name["a2a2a2a2"][3] == "loss 2.25"
    assert by_name["b3b3b3b3"][:4] == ["0", "2400", "?", ""]


def test_a_run_that_is_training_is_told(root: Path) -> None:
    with StateFolder(root / NEW).locked():
        assert "training now" in next(
            line for line in hanyi().stdout.splitlines() if line.startswith("a2")
        )
        done = hanyi("prune", "--all", "--yes")
    assert done.exit_code == 0
    assert f"{NEW}: is training now and stays" in done.stderr
    assert names(root) == [NEW]
    with StateFolder(root / NEW).locked():
        assert "nothing to remove" in hanyi("prune", "--all", "--yes").stderr


def test_one_whose_model_is_published_meanwhile_is_left_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = StateFolder.run

    def published(folder: StateFolder) -> Any:
        if folder.path.name in {NEW, BEGUN}:
            folder.remove()
        return real(folder)

    monkeypatch.setattr(StateFolder, "run", published)
    assert [run.name for run in list_runs(root)] == [OLD]


def test_a_lock_that_may_not_be_opened_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("hanyi.training.state.FileLock", denied)
    done = hanyi()
    assert done.exit_code == 2
    assert "lock: permission denied, expected a file to read" in done.stderr


def test_a_broken_description_is_no_fault(root: Path) -> None:
    (root / OLD / "run.json").write_text("{", encoding="utf-8")
    (root / NEW / "step-000000008/state.json").write_text("{", encoding="utf-8")
    rows = {line.split("\t")[0]: line.split("\t") for line in hanyi().stdout.splitlines()}
    assert rows["a1a1a1a1"][1:5] == ["8", "?", "2", "loss 2.25"]
    assert rows["a2a2a2a2"][1:3] == ["0", "2400"]


def test_nothing_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / "elsewhere"))
    done = hanyi()
    assert done.exit_code == 0
    assert not done.stdout
    assert "no training was interrupted" in done.stderr


def test_shows_settings_and_history() -> None:
    lines = [line.split("\t") for line in hanyi("show", "a1").stdout.splitlines()]
    assert ["sections.train.seed", "7"] in lines
    assert ["step", "epoch", "chrf", "valid_loss"] in lines
    assert ["8", "2", "28.5", "2.25"] in lines


@pytest.mark.parametrize(("prefix", "found"), [("a", "2 runs"), ("c", "0 runs"), ("", "0 runs")])
def test_a_name_must_mean_one_run(prefix: str, found: str) -> None:
    done = hanyi("show", prefix)
    assert done.exit_code == 2
    assert re.match(
        rf"hanyi: error: run '{prefix}': {found}, expected the beginning of", done.stderr
    )
    assert done.stderr.count("\n") == 1


def test_prune_asks_first(root: Path) -> None:
    done = hanyi("prune", "a1", text="n\n")
    assert done.exit_code == 1
    assert "Remove 1 for good?" in done.stderr
    assert names(root) == [OLD, NEW, BEGUN]
    assert hanyi("prune", "a1").exit_code == 1, "nobody there to answer means no"
    assert names(root) == [OLD, NEW, BEGUN]
    assert hanyi("prune", "a1", text="y\n").exit_code == 0
    assert names(root) == [NEW, BEGUN]


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["--older-than", "2"], [NEW, BEGUN]),
        (["--older-than", "4"], [OLD, NEW, BEGUN]),
        (["a1", "b", "--older-than", "2"], [NEW, BEGUN]),
        (["a2", "b"], [OLD]),
        (["--all"], []),
    ],
)
def test_prune_chooses(root: Path, arguments: list[str], left: list[str]) -> None:
    assert hanyi("prune", *arguments, "--yes").exit_code == 0
    assert names(root) == left


def test_prune_wants_a_choice(root: Path) -> None:
    done = hanyi("prune", "--yes")
    assert done.exit_code == 2
    assert "expected names of runs, --older-than or --all" in done.stderr
    assert names(root) == [OLD, NEW, BEGUN]


def test_a_table_on_a_terminal(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.terminal, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    shown = hanyi().stdout
    assert "┃ update ┃" in shown
    assert "chrf 30.25" in shown


def test_a_listing_does_not_need_torch(root: Path) -> None:
    script = (
        "import sys; from hanyi.runs import list_runs; from hanyi.training.state import state_root;"
        "assert len([run.row() for run in list_runs(state_root())]) == 3;"
        "sys.exit('torch' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert done.returncode == 0
    assert len(list_runs(root)) == 3
