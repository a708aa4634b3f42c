"""The mirror against a real store: what stages tell, and what stands in the row."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from hanyi.errors import HanyiError
from hanyi.revisions import git
from hanyi.tracking import address, open_tracker
from hanyi.tracking.identity import Identity, experiment_revision, project_root
from hanyi.tracking.journal import Journal, Reading
from hanyi.tracking.mirror import Store
from hanyi.tracking.transfer import Rows, Transfer

PARAMS = "model:\n  heads: 4\ntrain:\n  betas: [0.9, 0.98]\n  learning_rate: 1e-05\n"
WIRING = """\
stages:
  prepare: {outs: [data/prepared], metrics: [metrics/prepare.json: {cache: false}]}
  train: {deps: [data/prepared], outs: [model]}
  score: {deps: [model/weights]}
"""
PREPARED = {"rows": {"kept": 40}}

Project = Callable[[], list[Run]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in git; its store is made once, since that takes seconds."""
    root = tmp_path_factory.mktemp("project")
    (root / "params.yaml").write_text(PARAMS)
    (root / "dvc.yaml").write_text(WIRING)
    (root / "metrics").mkdir()
    (root / "metrics" / "prepare.json").write_text(json.dumps(PREPARED))
    (root / "metrics" / "score.json").write_text('{"bleu": {"score": 99.0}}')
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


@pytest.fixture
def rows(store: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """Give a function that lists the rows; the store is that of the project."""
    monkeypatch.chdir(store)
    for name in ("MLFLOW_TRACKING_URI", "DVC_ROOT", "DVC_EXP_NAME", "DVC_EXP_BASELINE_REV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("HANYI_TRACKING", raising=False)
    client = MlflowClient(f"sqlite:///{store / 'mlflow.db'}")

    def search() -> list[Run]:
        found = client.get_experiment_by_name("hanyi")
        return list(client.search_runs([found.experiment_id])) if found else []

    yield search
    (store / "params.yaml").write_text(PARAMS)


def record(stage: str, *messages: dict[str, Any], status: str = "FINISHED") -> None:
    root = project_root()
    journal = Journal(root, stage, address.store_address(root))
    for message in [*messages, {"kind": "end", "status": status}]:
        kept = message["kind"] == "artifact" and {"path": journal.keep(Path(message["path"]))}
        journal.append({"time": 1_700_000_000_000, **message, **(kept or {})})
    journal.close()
    reading = Reading(journal.folder)
    assert Transfer(reading, Rows(Store(root))).write(reading.messages())
    reading.remove()


def named(rows: list[Run], name: str) -> Run:
    (found,) = [run for run in rows if run.data.tags.get("dvc.experiment") == name]
    return found


def history(store: Path, run: Run, key: str) -> list[tuple[int, float]]:
    client = MlflowClient(f"sqlite:///{store / 'mlflow.db'}")
    return [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, key)]


LOSSES = [{"kind": "metrics", "values": {"loss": 1 / step}, "step": step} for step in (1, 2, 4)]
TRAINED = {"kind": "stage", "name": "train", "values": {"best": {"chrf": 50}, "why": "best"}}


def test_stages_of_one_experiment_share_a_row(
    rows: Project, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "shared")
    monkeypatch.setenv("DVC_EXP_BASELINE_REV", "c0ffee")
    (store / "curve.csv").write_text("step,loss\n")
    artifact = {"kind": "artifact", "path": str(store / "curve.csv"), "folder": "train"}
    text = {"kind": "text", "text": "爱\n", "name": "samples.md"}
    record("train", *LOSSES, TRAINED, artifact, text, {"kind": "tags", "values": {"a": "b"}})
    record("score", {"kind": "stage", "name": "score", "values": {"bleu": {"score": 12.5}}})

    run = named(rows(), "shared")
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "shared"
    assert run.data.params == {
        "model.heads": "4",
        "train.betas": "[0.9, 0.98]",
        "train.learning_rate": "1e-05",
    }
    assert run.data.metrics == {
        "prepare/rows.kept": 40.0,  # a stage that did not run
        "train/loss": 0.25,
        "train/best.chrf": 50.0,
        "score/bleu.score": 12.5,
    }
    assert history(store, run, "train/loss") == [(1, 1.0), (2, 0.5), (4, 0.25)]
    assert history(store, run, "prepare/rows.kept") == [(0, 40.0)]  # once, though two stages ran
    wanted = {"train/why": "best", "git.revision": "c0ffee", "git.branch": "main", "a": "b"}
    assert wanted.items() <= run.data.tags.items()
    client = MlflowClient(f"sqlite:///{store / 'mlflow.db'}")
    assert run.info.artifact_uri.startswith((store / "mlartifacts").as_uri())
    paths = {item.path for item in client.list_artifacts(run.info.run_id)}
    assert paths == {"samples.md", "train"}


def test_a_later_stage_has_not_run_yet(
    rows: Project, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "early")
    record("train", TRAINED)
    assert "score/bleu.score" not in named(rows(), "early").data.metrics


def test_a_repeated_build_uses_its_row_again(rows: Project, store: Path) -> None:
    record("train", *LOSSES[:2], TRAINED, status="KILLED")
    before = [run for run in rows() if run.data.tags.get("dvc.experiment") is None]
    assert [run.info.status for run in before] == ["KILLED"]
    resumed = {**LOSSES[1], "time": 1_700_000_009_000}  # the resumed run passes this point again
    record("train", resumed, LOSSES[2], TRAINED)
    after = [run for run in rows() if run.data.tags.get("dvc.experiment") is None]
    assert [run.info.run_id for run in after] == [run.info.run_id for run in before]
    assert after[0].info.status == "FINISHED"
    assert history(store, after[0], "train/loss") == [(1, 1.0), (2, 0.5), (4, 0.25)]
    head = after[0].data.tags["git.revision"]
    assert after[0].info.run_name.startswith(head[:7])
    assert len(head) == 40
    assert after[0].data.tags["git.dirty"] == "false"


def test_other_parameters_are_another_row(rows: Project, store: Path) -> None:
    count = len(rows())
    (store / "params.yaml").write_text(PARAMS.replace("heads: 4", "heads: 8"))
    record("train", TRAINED)
    assert len(rows()) == count + 1
    assert rows()[0].data.params["model.heads"] == "8"
    assert rows()[0].data.tags["git.dirty"] == "false"  # parameters are the experiment, not code


def test_changed_code_is_marked(rows: Project, store: Path) -> None:
    (store / "params.yaml").write_text(PARAMS.replace("heads: 4", "heads: 16"))
    text = (store / "dvc.yaml").read_text()
    try:
        (store / "dvc.yaml").write_text(text + "# changed\n")
        record("train", TRAINED)
    finally:
        (store / "dvc.yaml").write_text(text)
    assert rows()[0].data.tags["git.dirty"] == "true"


def test_many_values_of_any_name_go_in_batches(
    rows: Project, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "many")
    lines = "".join(f"  key{number}: {'x' * 9000}\n" for number in range(120))
    (store / "params.yaml").write_text(PARAMS + "many:\n" + lines)
    values = {f"n{number}": number for number in range(900)} | {"我的/../语料 #1": 1.0}
    record("train", {"kind": "metrics", "values": values, "step": 0})
    run = named(rows(), "many")
    assert len(run.data.params) == 123
    assert run.data.metrics["train/n899"] == 899.0
    assert run.data.metrics["train/我的/语料 _1"] == 1.0


def test_an_experiment_that_was_broken_off_goes_on_under_another_name(
    rows: Project, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store / "params.yaml").write_text(PARAMS.replace("heads: 4", "heads: 32"))
    monkeypatch.setenv("DVC_EXP_BASELINE_REV", "c0ffee")
    monkeypatch.setenv("DVC_EXP_NAME", "eager-elk")
    speed = {"kind": "metrics", "values": {"tokens_per_second": 100.0}, "step": 2}
    record("train", *LOSSES[:2], speed, status="KILLED")
    begun = named(rows(), "eager-elk")
    monkeypatch.setenv("DVC_EXP_NAME", "brave-fox")
    faster = {**speed, "values": {"tokens_per_second": 200.0}, "time": 1_700_000_009_000}
    record("train", {**LOSSES[1], "time": 1_700_000_009_000}, faster, LOSSES[2], TRAINED)
    ended = named(rows(), "brave-fox")
    assert ended.info.run_id == begun.info.run_id
    assert (ended.info.run_name, ended.info.status) == ("brave-fox", "FINISHED")
    assert history(store, ended, "train/loss") == [(1, 1.0), (2, 0.5), (4, 0.25)]
    assert history(store, ended, "train/tokens_per_second") == [(2, 100.0)]
    monkeypatch.setenv("DVC_EXP_NAME", "calm-cat")
    record("train", TRAINED)  # the other one has ended well, so this is one of its own
    assert named(rows(), "calm-cat").info.run_id != begun.info.run_id


def test_what_did_not_run_is_there_with_curve_and_files(
    rows: Project, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "skipping")
    made = store / "metrics" / "train"
    made.mkdir()
    (made / "curve.csv").write_text("step,valid_loss,bleu\n400,3.5,11.9\n800,2.5,44.0\n")
    (made / "samples.md").write_text("# 爱\n")
    wiring = WIRING.replace("outs: [model]", "outs: [model, metrics/train]")
    (store / "dvc.yaml").write_text(wiring)
    try:
        record("score")
        record("score")
    finally:
        shutil.rmtree(made)
        (store / "dvc.yaml").write_text(WIRING)
    run = named(rows(), "skipping")
    assert history(store, run, "train/valid_loss") == [(400, 3.5), (800, 2.5)]
    assert history(store, run, "train/bleu") == [(400, 11.9), (800, 44.0)]
    client = MlflowClient(f"sqlite:///{store / 'mlflow.db'}")
    listed = client.list_artifacts(run.info.run_id, "train")
    assert [item.path for item in listed] == ["train/curve.csv", "train/samples.md"]


def test_a_value_that_comes_back_is_the_latest_again(
    rows: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "back")
    for moment, value in enumerate((1.0, 2.0, 1.0)):
        values = {"best": value}
        record("train", {"kind": "stage", "name": "train", "values": values, "time": moment + 1})
    assert named(rows(), "back").data.metrics["train/best"] == 1.0


def test_the_store_lies_in_the_root_wherever_a_stage_runs(
    rows: Project, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = len(rows())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(PARAMS)
    monkeypatch.setenv("DVC_ROOT", str(store))
    monkeypatch.setenv("DVC_EXP_NAME", "temporary")
    record("train", TRAINED)
    assert len(rows()) == count + 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["params.yaml"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, "sqlite:////p/mlflow.db"),
        ("sqlite:///my.db", "sqlite:////p/my.db"),
        ("sqlite:////abs/my.db", "sqlite:////abs/my.db"),
        ("http://host:5000", "http://host:5000"),
        ("postgresql://host/db", "postgresql://host/db"),
    ],
)
def test_addresses(given: str | None, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    if given:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", given)
    assert address.store_address(Path("/p")) == expected


def test_without_mlflow_it_is_an_error_unless_switched_off(
    rows: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(HanyiError, match=r"mlflow: no such module.*HANYI_TRACKING=off"):
        open_tracker("train").__enter__()
    monkeypatch.setenv("HANYI_TRACKING", "off")
    with open_tracker("train") as tracker:
        tracker.metrics({"loss": 1.0}, step=1)
        tracker.text("text", "name")


def test_an_experiment_has_a_row_for_each_baseline(store: Path, rows: Project) -> None:
    """DVC takes the same name again at another revision; git allows odd ones."""
    kept = Store(store)
    plain = Identity(baseline="a" * 40, experiment="it's", params="p", branch="", dirty=False)
    made = kept.run(plain, {"model.heads": 4})
    found = kept.row_of(plain, "")
    assert found is not None
    assert found.info.run_id == made.id
    assert kept.row_of(replace(plain, baseline="b" * 40), "") is None
    MlflowClient(f"sqlite:///{store / 'mlflow.db'}").delete_run(made.id)


def test_a_commit_of_an_experiment_is_that_of_its_baseline(store: Path) -> None:
    head = git("rev-parse", "HEAD", root=store)
    one, other = (
        Identity(baseline=digit * 40, experiment="same", params="p", branch="", dirty=False)
        for digit in "ab"
    )
    git("update-ref", f"refs/exps/bb/{'b' * 38}/same", head, root=store)
    assert experiment_revision(one, store) == ""
    assert experiment_revision(other, store) == head
    git("update-ref", "-d", f"refs/exps/bb/{'b' * 38}/same", root=store)
