"""`dvc repro` and `dvc exp run` on a tiny corpus, and what stays when they are run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import First
from tests.e2e.workspace import ROOT, WEIGHTS, Done, Workspace, corpus, ran, write_table

pytestmark = pytest.mark.slow

STAGES = ["fetch", "prepare", "tokenizers", "encode", "train", "decode", "score"]
# Of what an import writes, nothing may make a stage stale.
IMPORT_ALL = """
import pkgutil, stages, hanyi
for package in (stages, hanyi):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            __import__(module.name)
"""


def test_first_build_runs_every_stage(first: First) -> None:
    assert ran(first.done) == STAGES


def test_first_build_scores(first: First) -> None:
    score = first.workspace.metrics("score")
    for metric in ("bleu", "chrf"):
        assert 0 <= score[metric]["score"] <= 100
        assert score[metric]["signature"]
        assert score["corpora"]["mine"][metric] == score[metric]


def test_rows_add_up(first: First) -> None:
    prepare = first.workspace.metrics("prepare")
    assert prepare["rows"]["read"] == len(corpus())
    assert prepare["rows"]["kept"] + prepare["rows"]["rejected"] == prepare["rows"]["read"]
    assert sum(prepare["rejected"].values()) == prepare["rows"]["rejected"]
    decoded = (first.workspace.path / "data/decoded/test.jsonl").read_text(encoding="utf-8")
    assert len(decoded.splitlines()) == prepare["splits"]["test"] == 16


def test_build_leaves_git_clean(first: First) -> None:
    """Only dvc.lock and metrics are new: nothing cached, no .gitignore line of DVC's own."""
    listed = first.copy.run("git", "show", "--name-only", "--format=", "HEAD").out.split()
    assert sorted(listed) == sorted(["dvc.lock", *(f"metrics/{stage}.json" for stage in STAGES)])
    assert first.copy.run("git", "status", "--porcelain").out == ""


def test_build_leaves_nothing_half_written(first: First) -> None:
    assert first.workspace.leftovers() == []


def test_second_build_runs_nothing(first: First) -> None:
    assert ran(first.workspace.dvc("repro")) == []


def test_bytecode_makes_nothing_stale(built: Workspace) -> None:
    built.run(".venv/bin/python", "-c", IMPORT_ALL)
    written = {path.parent.parent for path in (built.path / "src").rglob("__pycache__/*.pyc")}
    assert built.path / "src/hanyi/tokens" in written
    assert json.loads(built.dvc("status", "--json").out) == {}


@pytest.fixture(scope="module")
def experiment(first: First) -> Done:
    """Run an experiment beside the first build."""
    return first.workspace.dvc("exp", "run", "-S", "model.heads=4", HANYI_TRACKING=None)


def test_experiment_runs_what_it_changes(experiment: Done) -> None:
    assert ran(experiment) == ["train", "decode", "score"]


def test_both_runs_stand_in_dvc(first: First, experiment: Done) -> None:
    shown = json.loads(first.workspace.dvc("exp", "show", "--json").out)
    heads = {_heads(state["data"]) for state in shown if state["rev"] != "workspace"}
    for state in shown:
        for trial in state.get("experiments") or []:
            heads |= {_heads(revision["data"]) for revision in trial["revs"]}
    assert heads >= {2, 4}


def _heads(data: dict[str, Any] | None) -> int | None:
    return data and data["params"]["params.yaml"]["data"]["model"]["heads"]


def test_both_runs_stand_in_mlflow(first: First, experiment: Done) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{first.workspace.path}/mlflow.db")
    found = client.search_runs([known.experiment_id for known in client.search_experiments()])
    assert sorted(run.data.params["model.heads"] for run in found) == ["2", "4"]
    for run in found:
        assert run.info.status == "FINISHED"
        assert "score/bleu.score" in run.data.metrics


def test_another_test_set_trains_nothing_again(built: Workspace) -> None:
    rows = [("Good night!", "晚安！"), ("Where is the station?", "车站在哪里？")]
    write_table(built.path / "data/inputs/new.tsv", rows)
    mine = {"name": "mine", "source": "train.tsv"}
    built.edit(
        **{"fetch.corpora": [mine, {"name": "new", "source": "new.tsv", "role": "test"}]},
    )
    done = built.dvc("repro")
    assert ran(done) == ["fetch", "prepare", "tokenizers", "encode", "decode", "score"]
    assert built.metrics("decode")["rows"] == 16 + len(rows)


def test_temporary_experiment_uses_its_own_library(built: Workspace, tmp_path: Path) -> None:
    """The library of the main workspace, which an editable install names, must not leak in."""
    probe = tmp_path / "probe"
    module = built.path / "src/hanyi/corpus/__init__.py"
    text = module.read_text(encoding="utf-8")
    text += f'\nopen("{probe}", "a", encoding="utf-8").write(__file__ + "\\n")\n'
    module.write_text(text, encoding="utf-8", newline="\n")
    done = built.dvc(
        "exp", "run", "--temp", "-S", "decode.beam_size=1", PYTHONPATH=str(ROOT / "src")
    )
    assert ran(done) == ["fetch", "prepare", "decode", "score"]
    used = [Path(line) for line in probe.read_text(encoding="utf-8").splitlines()]
    assert len(used) == 3  # all of these but decode, which does not import it
    assert all(built.path / ".dvc/tmp/exps" in path.parents for path in used)


def test_weights_do_not_depend_on_the_place(first: First, built: Workspace) -> None:
    assert built.digests(WEIGHTS.rpartition("/")[0]) == first.copy.digests("models/transformer")
