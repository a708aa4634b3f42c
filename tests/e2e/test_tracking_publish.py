"""`hanyi publish` in a small project of real dvc: rows for what ran without MLflow."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from tests.e2e.workspace import ROOT

pytestmark = pytest.mark.slow

PARAMS = "model: {heads: 4, dropout: 1e-05}\nprepare: {rows: 40}\n"
STAGE = """\
import json, sys
from pathlib import Path
sys.path.insert(0, {source!r})
from hanyi.params import read_params
from hanyi.tracking import open_tracker
name = sys.argv[1]
value = read_params()["model"]["heads"] if name == "train" else 1
folder = Path("metrics", name)
folder.mkdir(parents=True)
with open_tracker(name) as tracker:
    (folder / "report.md").write_text(f"# {{name}} {{value}}")
    if name == "train":
        (folder / "curve.csv").write_text(f"step,valid_loss\\n1,2.5\\n2,{{1 / value}}\\n")
        tracker.metrics({{"valid_loss": 2.5}}, step=1)
        tracker.metrics({{"valid_loss": 1 / value}}, step=2)
    for file in folder.iterdir():
        tracker.artifact(file)
    Path(f"{{name}}.out").write_text(str(value))
    metrics = {{"best": {{"bleu": value / 3}}, "why": "best"}}
    Path(f"metrics/{{name}}.json").write_text(json.dumps(metrics))
    tracker.stage_metrics(name, metrics)
"""
WIRING = """\
stages:
  prepare:
    cmd: {python} stage.py prepare
    params: [prepare]
    outs: [prepare.out, metrics/prepare]
    metrics: [metrics/prepare.json: {{cache: false}}]
  train:
    cmd: {python} stage.py train
    deps: [prepare.out]
    params: [model]
    outs: [train.out, metrics/train]
    metrics: [metrics/train.json: {{cache: false}}]
"""

CLI = "from hanyi.cli import app; app()"

Command = Callable[..., str]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Give a way to run commands in a project of two stages; `dvc` may run without MLflow."""
    home = tmp_path / "home"
    home.mkdir()
    work = tmp_path / "work"
    work.mkdir()
    leave = ("PYTHON", "HANYI", "MLFLOW", "DVC", "GIT")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(leave)}
    environment |= {name: str(home) for name in ("DVC_GLOBAL_CONFIG_DIR", "DVC_SITE_CACHE_DIR")}
    environment |= {"DVC_NO_ANALYTICS": "true", "GIT_CONFIG_GLOBAL": os.devnull}
    environment |= {"PYTHONPATH": str(ROOT / "src")}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "a", f"GIT_{who}_EMAIL": "a@b.c"}

    def run(*arguments: str, tracking: str = "on") -> str:
        tools = {
            "dvc": ["-m", "dvc"],
            "publish": ["-c", CLI, "publish"],
        }
        words = [*arguments]
        if words[0] in tools:
            words = [sys.executable, *tools[words[0]], *words[1:]]
        done = subprocess.run(
            words,
            cwd=work,
            env={**environment, "HANYI_TRACKING": tracking},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    (work / "params.yaml").write_text(PARAMS)
    (work / "stage.py").write_text(STAGE.format(source=str(ROOT / "src")))
    (work / "dvc.yaml").write_text(WIRING.format(python=sys.executable))
    (work / ".gitignore").write_text(".hanyi\nmlflow.db\nmlartifacts\n*.out\nmetrics/*/\n")
    run("git", "init", "-q", "-b", "main")
    run("dvc", "init", "-q")
    run("git", "add", ".")
    run("git", "commit", "-qm", "first")
    return run


def rows(work: Path) -> dict[str, Run]:
    client = MlflowClient(f"sqlite:///{work / 'mlflow.db'}")
    found = client.search_runs([client.get_experiment_by_name("hanyi").experiment_id])
    return {run.data.tags.get("dvc.experiment", ""): run for run in found}


def require_whole(work: Path, run: Run, heads: int, lock: bytes) -> None:
    """Look for all of a run: nothing may lack, whoever wrote it."""
    client = MlflowClient(f"sqlite:///{work / 'mlflow.db'}")
    assert run.info.status == "FINISHED"
    assert run.data.params == {
        "model.heads": str(heads),
        "model.dropout": "1e-05",
        "prepare.rows": "40",
    }
    bests = {name: run.data.metrics[f"{name}/best.bleu"] for name in ("prepare", "train")}
    assert bests == {"prepare": 1 / 3, "train": heads / 3}
    curve = client.get_metric_history(run.info.run_id, "train/valid_loss")
    assert [(point.step, point.value) for point in curve] == [(1, 2.5), (2, 1 / heads)]
    folders = {
        folder: [Path(item.path).name for item in client.list_artifacts(run.info.run_id, folder)]
        for folder in ("prepare", "train")
    }
    assert folders == {"prepare": ["report.md"], "train": ["curve.csv", "report.md"]}
    assert run.data.tags["dvc.lock"] == hashlib.md5(lock).hexdigest()
    assert run.data.tags["dvc.train.out"] == hashlib.md5(str(heads).encode()).hexdigest()


def test_publish_adds_each_run_once(command: Command, tmp_path: Path) -> None:
    work = tmp_path / "work"

    def lock() -> bytes:
        return (work / "dvc.lock").read_bytes()

    command("dvc", "repro", tracking="off")
    assert command("publish").startswith("the workspace: added, ")  # not committed yet
    require_whole(work, rows(work)[""], 4, lock())
    command("git", "add", ".")
    command("git", "commit", "-qm", "built")
    command("dvc", "exp", "run", "-q", "-n", "away", "-S", "model.heads=8", tracking="off")
    away = lock()
    command("dvc", "exp", "run", "-q", "-n", "live", "-S", "model.heads=16")
    live = lock()
    command("dvc", "exp", "run", "-q", "-n", "back", "-S", "model.heads=4")  # from the cache
    (work / "params.yaml").write_text(PARAMS.replace("4", "2"))  # never built
    lines = command("publish").splitlines()
    assert {line.partition(": added")[0] for line in lines} == {"away", "back"}
    found = rows(work)
    assert set(found) == {"", "away", "back", "live"}
    require_whole(work, found["away"], 8, away)
    require_whole(work, found["live"], 16, live)
    require_whole(work, found["back"], 4, lock())
    assert command("publish") == "nothing is missing\n"
    assert len(rows(work)) == 4
