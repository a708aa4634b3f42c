"""`dvc plots show`: each plot of dvc.yaml finds its columns in what the stages write."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from ruamel.yaml import YAML

from hanyi.analysis.breakdowns import breakdowns
from hanyi.analysis.tables import write_csv as write_table
from hanyi.corpus.charts import write_csv as write_funnel
from hanyi.corpus.funnel import Step
from hanyi.corpus.size_charts import write_csv as write_sizes
from hanyi.corpus.sizes import Sizes
from hanyi.training.curve import COLUMNS
from hanyi.training.curve import write_csv as write_curve
from tests.analysis import described

ROOT = Path(__file__).resolve().parents[2]
TITLES = {
    "Loss, nats a token",
    "BLEU and chrF of valid, greedy",
    "Learning rate",
    "Rows taken by each step of prepare",
    "Share of sources by characters",
    "Share of targets by characters",
    "chrF by words of the source",
    "F1 of words by their occurrences in train",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project with the plots of dvc.yaml and the tables that they draw, without stages."""
    monkeypatch.chdir(tmp_path)
    for folder in ("train", "prepare", "score"):
        (tmp_path / "metrics" / folder).mkdir(parents=True)
    history = [dict.fromkeys(COLUMNS, 0.5 * step) for step in (1, 2, 3)]
    write_curve(Path("metrics/train/curve.csv"), history)
    steps = [Step("empty", False, 3, 7, 0, 0), Step("spaces", True, 0, 7, 2, 1)]
    write_funnel(Path("metrics/prepare/funnel.csv"), steps, 10)
    sizes = Sizes()
    for split in ("train", "valid", "test"):
        for side in ("src", "tgt"):
            sizes.add(split, side, pa.array(["a", "bb", "cccc"]))
    write_sizes(Path("metrics/prepare/lengths.csv"), sizes)
    for table in breakdowns(described(tmp_path)):
        write_table(Path(f"metrics/score/{table.name}.csv"), table)
    yaml = YAML(typ="safe", pure=True)
    plots = yaml.load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["plots"]
    Path("dvc.yaml").write_text(json.dumps({"plots": plots}), encoding="utf-8")
    shutil.copytree(ROOT / ".dvc/plots", tmp_path / ".dvc/plots")
    return tmp_path


def shown(folder: Path) -> list[dict[str, Any]]:
    """Give each plot as DVC hands it to Vega."""
    (folder / ".dvc/config").write_text("[core]\n    no_scm = true\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "plots", "show", "--json"],
        cwd=folder,
        env={**os.environ, "DVC_NO_ANALYTICS": "1"},
        capture_output=True,
        check=True,
        text=True,
    )
    found = json.loads(done.stdout)
    assert not found.get("errors"), found["errors"]
    return [plot["content"] for plots in found["data"].values() for plot in plots]


def fields(part: object, kind: str) -> set[str]:
    """Give the fields that any layer of a specification takes for a channel."""
    if isinstance(part, list):
        return set().union(*(fields(each, kind) for each in part))
    if not isinstance(part, dict):
        return set()
    channel = part.get(kind)
    own = {channel["field"]} if isinstance(channel, dict) and "field" in channel else set()
    return own.union(*(fields(each, kind) for key, each in part.items() if key != "data"))


def test_each_plot_finds_its_columns(project: Path) -> None:
    plots = shown(project)
    assert {plot["title"]["text"] for plot in plots} == TITLES
    for plot in plots:
        values = plot["data"]["values"]
        assert values, plot["title"]
        used = fields(plot, "x") | fields(plot, "y")
        assert used, plot["title"]
        assert all(used <= set(value) for value in values), (plot["title"], used)
        assert "<DVC_" not in json.dumps(plot), plot["title"]
