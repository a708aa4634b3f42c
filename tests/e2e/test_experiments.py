"""`dvc exp run` in its forms, on a clean clone without a remote: what DVC and MLflow then hold."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from tests.e2e.conftest import First
from tests.e2e.rows import Rows, data, experiments, numbers, params
from tests.e2e.test_repro import STAGES
from tests.e2e.workspace import TINY, Done, Workspace, ran

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

GOOD = {
    "one": {"model.heads": 1},
    "beam-1": {"model.heads": 1, "decode.beam_size": 1},
    "beam-2": {"model.heads": 1, "decode.beam_size": 3},
    "short": {"model.heads": 1, "decode.length_penalty": 0.5},
}
BAD = "bad"
POINTS = TINY["train.max_steps"] // TINY["train.validate_every"]


@dataclass
class Laboratory:
    """A clean clone, and what dvc said to the experiments in it."""

    workspace: Workspace
    one: Done
    short: Done

    @property
    def rows(self) -> Rows:
        """Open the project's own store."""
        return Rows.of_project(self.workspace)


@pytest.fixture(scope="module")
def lab(first: First, tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """Experiment in the workspace, then with what it left there: in the queue, and beside it."""
    workspace = first.copy.clone(tmp_path_factory.mktemp("lab") / "work", revision="HEAD")
    workspace.run("git", "remote", "remove", "origin")
    one = workspace.tracked("exp", "run", "-S", "model.heads=1", "--name", "one")
    workspace.dvc("exp", "run", "--queue", "-S", "decode.beam_size=1,3", "--name", "beam")
    workspace.dvc("exp", "run", "--queue", "-S", "model.heads=3", "--name", BAD)
    workspace.start_the_queue(jobs=2)
    workspace.wait_for_the_queue()
    change = ("-S", "decode.length_penalty=0.5")
    short = workspace.tracked("exp", "run", "--temp", *change, "--name", "short")
    return Laboratory(workspace, one, short)


def test_a_clean_clone_builds_what_it_lacks(lab: Laboratory) -> None:
    assert ran(lab.one) == STAGES


def test_another_workspace_takes_what_is_cached(lab: Laboratory) -> None:
    assert ran(lab.short) == ["decode", "score"]


def test_every_experiment_has_one_row(lab: Laboratory) -> None:
    assert lab.rows.names() == sorted([*GOOD, BAD])


def test_rows_say_how_the_experiments_ended(lab: Laboratory) -> None:
    assert {name: lab.rows.of(name).info.status for name in GOOD} == dict.fromkeys(GOOD, "FINISHED")
    assert lab.rows.of(BAD).info.status == "FAILED"


@pytest.mark.parametrize("name", GOOD)
def test_dvc_and_mlflow_agree_to_the_digit(lab: Laboratory, name: str) -> None:
    row, record = lab.rows.of(name), experiments(lab.workspace)[name]
    shown = numbers(record)
    assert {metric.partition("/")[0] for metric in shown} == set(STAGES)
    assert {metric: row.data.metrics.get(metric) for metric in shown} == shown
    assert row.data.params == {key: str(value) for key, value in params(record).items()}
    expected = {**TINY, **GOOD[name]}
    assert {key: row.data.params[key] for key in GOOD[name]} == {
        key: str(expected[key]) for key in GOOD[name]
    }


@pytest.mark.parametrize("name", GOOD)
def test_rows_are_tagged(lab: Laboratory, name: str) -> None:
    head = lab.workspace.run("git", "rev-parse", "HEAD").out.strip()
    row = lab.rows.waited(name, lambda row: "dvc.lock" in row.data.tags)
    tags = row.data.tags
    assert tags["git.revision"] == head
    assert tags["dvc.experiment"] == name == row.info.run_name
    outs = data(experiments(lab.workspace)[name])["outs"]
    for path in ("data/raw", "data/prepared", "models/transformer", "data/decoded"):
        assert tags[f"dvc.{path}"] == outs[path]["hash"]
    assert {"machine.host", "machine.cpu", "decode/device"} <= set(tags)  # decode ran in each
    assert "score/bleu.signature" in tags


@pytest.mark.parametrize("name", GOOD)
def test_rows_hold_curve_and_pages(lab: Laboratory, name: str) -> None:
    row = lab.rows.of(name)
    history = lab.rows.client.get_metric_history(row.info.run_id, "train/valid_loss")
    steps = [point.step for point in history]
    assert len(steps) == len(set(steps)) >= POINTS, "each validation stands once"
    files = lab.rows.files(row)
    assert {
        "train/curve.csv",
        "train/samples.md",
        "prepare/funnel.csv",
        "score/report.html",
    } <= files


def test_a_failed_experiment_keeps_its_log(lab: Laboratory) -> None:
    log = lab.workspace.dvc("queue", "logs", BAD).out
    assert "train: error: " in log
    assert "heads" in log
    assert "Traceback" not in log
    assert "Failed" in lab.workspace.dvc("queue", "status").out
    assert lab.rows.of(BAD).data.params["model.heads"] == "3"


def test_experiments_are_compared(lab: Laboratory) -> None:
    changed = json.loads(lab.workspace.dvc("exp", "diff", "--json", "one", "beam-1").out)
    assert changed["params"]["params.yaml"] == {
        "decode.beam_size": {"old": 2, "new": 1, "diff": -1}
    }
    assert "metrics/decode.json" in changed["metrics"]


def test_an_applied_experiment_runs_nothing_again(lab: Laboratory) -> None:
    before = lab.rows.names()
    lab.workspace.dvc("exp", "apply", "beam-1")
    assert (
        lab.workspace.metrics("score")["bleu"]["score"]
        == numbers(experiments(lab.workspace)["beam-1"])["score/bleu.score"]
    )
    assert ran(lab.workspace.tracked("repro")) == []
    assert json.loads(lab.workspace.dvc("status", "--json").out) == {}
    assert lab.rows.names() == before


def test_a_branch_of_an_experiment_runs_nothing_again(lab: Laboratory) -> None:
    lab.workspace.dvc("exp", "branch", "short", "trial")
    lab.workspace.run("git", "checkout", "--quiet", "--force", "trial")
    lab.workspace.dvc("checkout")
    assert ran(lab.workspace.dvc("repro")) == []
    assert lab.workspace.run("git", "status", "--porcelain").out == ""
    lab.workspace.run("git", "checkout", "--quiet", "main")
