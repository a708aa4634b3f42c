"""A sweep's trials, what DVC makes of them, what is queued again, and the table."""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanyi.errors import ParamsError
from hanyi.params import flatten, read_params
from stages import experiments, sweep
from stages.experiments import DONE, ENDING, FAILED, QUEUED, RUNNING, Experiment
from stages.trials import Axis, Choices, Range, Trial, changed, draw, grid, override, parse_axis

LAYERS = "model.layers=1,2,3"
RATE = "train.learning_rate=0.001..0.004 log"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LAYERS, Axis("model.layers", Choices([1, 2, 3]))),
        (RATE, Axis("train.learning_rate", Range(0.001, 0.004, True))),
        ("train.warmup=100..500", Axis("train.warmup", Range(100, 500, False))),
        ("train.clip=0..1.5", Axis("train.clip", Range(0, 1.5, False))),
        ("train.learning_rate=1e-5..1e-3", Axis("train.learning_rate", Range(1e-5, 1e-3, False))),
        ("a=null,true,x, 1e-05", Axis("a", Choices([None, True, "x", 1e-05]))),
        ("train.betas=[0.9, 0.98],[0,1]", Axis("train.betas", Choices([[0.9, 0.98], [0, 1]]))),
        ("tokenizers.use=../a..b", Axis("tokenizers.use", Choices(["../a..b"]))),
        ("decode.patience=1.0,.inf", Axis("decode.patience", Choices([1.0, math.inf]))),
    ],
)  # fmt: skip
def test_an_axis_is_read(text: str, expected: Axis) -> None:
    assert parse_axis(text) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model.layers", "not name=values"),
        ("=1,2", "not name=values"),
        ("model.layers=", "not name=values"),
        ("model.layers=[1,2", "values that cannot be read"),
        ("decode.terms={a: b}", "values that cannot be read"),
        ("model.layers=1,2,1", "a value twice"),
        ("train.clip=2..1", "two rising numbers"),
        ("train.clip=0..1 log", "over 0 for log"),
    ],
)
def test_an_axis_that_is_none_is_told(text: str, told: str) -> None:
    with pytest.raises(ParamsError, match=told):
        parse_axis(text)


def test_a_grid_is_every_combination() -> None:
    axes = [parse_axis(LAYERS), parse_axis("model.norm=pre,post"), parse_axis("train.warmup=1..2")]
    trials = grid(axes)
    assert len(trials) == len({tuple(trial.values.values()) for trial in trials}) == 12
    assert trials[0].name == "layers1-normpre-warmup1"
    assert trials[-1].values == {"model.layers": 3, "model.norm": "post", "train.warmup": 2}


def test_a_grid_of_no_numbers_is_refused() -> None:
    with pytest.raises(ParamsError, match="--random N"):
        grid([parse_axis(RATE)])


def test_draws_hang_on_the_seed_alone() -> None:
    axes = [parse_axis(LAYERS), parse_axis(RATE)]
    first = draw(axes, 8, seed=1)
    assert draw(axes, 12, seed=1)[:8] == first, "a longer search begins with the shorter one"
    assert draw(axes, 8, seed=2) != first
    turned = draw(axes[::-1], 8, seed=1)
    assert [dict(trial.values) for trial in turned] == [dict(trial.values) for trial in first]
    # Written down, so that another machine or Python that draws otherwise is seen.
    assert [trial.name for trial in first[:3]] == FIRST


FIRST = ["layers3-lr0.00247", "layers1-lr0.00225", "layers3-lr0.00332"]


def test_more_draws_than_combinations_are_refused() -> None:
    assert len(draw([parse_axis(LAYERS)], 3, seed=1)) == 3
    with pytest.raises(ParamsError, match="3 different combinations, expected the 4"):
        draw([parse_axis(LAYERS)], 4, seed=1)


@given(
    low=st.floats(1e-6, 1e3),
    factor=st.floats(1.01, 1e4),
    log=st.booleans(),
    share=st.floats(0, 1, exclude_max=True),
)
def test_a_drawn_number_lies_in_its_range(
    low: float, factor: float, log: bool, share: float
) -> None:
    assert low <= Range(low, low * factor, log).at(share) <= low * factor


@pytest.mark.parametrize("log", [False, True])
def test_whole_numbers_are_drawn_whole_and_all(log: bool) -> None:
    drawn = [Range(1, 4, log).at(share / 100) for share in range(100)]
    assert set(drawn) == {1, 2, 3, 4}
    assert all(isinstance(number, int) for number in drawn)
    if not log:
        assert [drawn.count(number) for number in (1, 2, 3, 4)] == [25] * 4


def test_a_logarithmic_range_has_its_middle_in_the_geometric_mean() -> None:
    assert Range(0.001, 0.1, True).at(0.5) == 0.01
    assert Range(0.0, 0.1, False).at(0.5) == 0.05


@pytest.mark.parametrize(
    ("axes", "name"),
    [
        ([LAYERS], "layers1"),
        (["train.learning_rate=1e-05,2"], "lr1e-05"),
        (["model.layers=2", "x.layers=3"], "model.layers2-x.layers3"),
        (["train.betas=[0.9,0.98]"], "betas0.9_0.98"),
        (["decode.prefix='a..b c/~d:'"], "prefixa_b_c_d"),
        (["model.d_model=64", "model.decoder_layers=null"], "d_model64-dlnull"),
        (["+fetch.corpora.0.weight=2"], "weight2"),
    ],
)  # fmt: skip
def test_names_can_be_read_and_are_fit_for_git(axes: list[str], name: str) -> None:
    assert grid([parse_axis(axis) for axis in axes])[0].name == name


def test_one_name_for_two_trials_is_refused() -> None:
    with pytest.raises(ParamsError, match="two trials of one name"):
        grid([parse_axis("decode.prefix=a b,a/b")])


def test_changed_leaves_what_it_was_given(root: Path) -> None:
    params = read_params(root / "params.yaml")
    made = changed(params, {"model.layers": 5, "prepare.rules.0.rule": "x", "train.betas.1": 0.9})
    assert made["model"]["layers"] == 5
    assert made["prepare"]["rules"][0]["rule"] == "x"
    assert made["train"]["betas"][1] == 0.9
    assert params == read_params(root / "params.yaml")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("model.layer", "model.layers"),
        ("layers", "model.layers"),
        ("train.lr.x", "train."),
        ("prepare.rules.99.rule", "params.yaml|prepare."),
        ("zzz", "a name of params.yaml"),
    ],
)
def test_an_unknown_parameter_is_told_with_those_nearby(root: Path, name: str, near: str) -> None:
    with pytest.raises(ParamsError, match=near):
        changed(read_params(root / "params.yaml"), {name: 1})


PARAMS = """
model: {layers: 3, decoder_layers: null}
train:
  learning_rate: 0.0025   # peak
  betas: [0.9, 0.98]
  init: null
decode: {patience: 2.0, ensemble: []}
prepare: {rules: [{rule: tags}, {rule: script, share: 0.3}]}
fetch: {corpora: [{name: a}]}
"""
ODD = ["a\\b", 'a"b', 'a\\"b', "a\\", 'a\\\\"', "a\nb", "a\tb", "it's", ""]
VALUES: dict[str, list[Any]] = {
    "model.layers": [1, 12],
    "model.decoder_layers": [None, 2],
    "train.learning_rate": [1e-05, 0.00123, 2.0],
    "train.betas": [[0.9, 0.999]],
    "train.init": ["models/a b", "x,y", "null", "true", "1e-3", "北京", None, *ODD],
    "decode.patience": [math.inf, 1.5],
    "decode.ensemble": [["a", "b"], []],
    "prepare.rules.1.share": [0.5],
    "+fetch.corpora.0.weight": [3],
}


@pytest.mark.parametrize("name", VALUES)
def test_dvc_makes_of_a_value_what_was_meant(tmp_path: Path, name: str) -> None:
    """DVC writes params.yaml itself; its reading of `-S` and ours must agree."""
    from dvc.utils.hydra import apply_overrides, get_hydra_sweeps

    file = tmp_path / "params.yaml"
    for value in VALUES[name]:
        file.write_text(PARAMS, encoding="utf-8", newline="\n")
        expected = changed(read_params(file), {name: value})
        told = override(name, value)
        assert len(get_hydra_sweeps({"params.yaml": [told]})) == 1, "a list is one value"
        apply_overrides(file, [told])
        assert read_params(file) == expected


@pytest.fixture
def project(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with params.yaml in which nothing can be queued."""
    shutil.copy(root / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("_run", "ask_dvc"):
        monkeypatch.setattr(experiments, name, _forbidden)
    return tmp_path


def _forbidden(*command: str, **_: str) -> str:
    raise AssertionError(f"ran {command}")


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        (["model.heads=6,7"], "trial heads7: .*d_model"),
        (["model.activation=relu,reluu"], "activation must be one of relu"),
        (["model.layers=1,two"], "model.layers: .*integer"),
        (["model.layers=1,[2,3]"], "model.layers: .*integer"),
        (["model.layer=1,2"], "model.layer: no such parameter, expected model.layers"),
        ([LAYERS, "train.clip=-1,1"], "clip must be at least 0"),
    ],
)
def test_a_bad_value_is_refused_before_anything_is_queued(
    project: Path, axes: list[str], told: str
) -> None:
    with pytest.raises(ParamsError, match=told):
        sweep.main(axes)


def test_dry_shows_the_trials_and_queues_nothing(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axes = (LAYERS, "model.norm=post")
    assert sweep.main(["--dry", *axes, "--name", "deep"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["experiment", "model.layers", "model.norm"],
        *([f"deep-layers{layers}-normpost", str(layers), "post"] for layers in (1, 2, 3)),
    ]
    assert sweep.main(["--dry", LAYERS, "--markdown"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:3] == ["| experiment | model.layers |", "| --- | ---: |", "| layers1 | 1 |"]


class Queue:
    """Stands in for DVC: each look at it finishes a trial, those named in `bad` fail once."""

    def __init__(self, known: Mapping[str, Experiment], bad: Mapping[str, str]) -> None:
        self.known = dict(known)
        self.bad = dict(bad)
        self.did: list[str] = []

    def read(self, baseline: str) -> dict[str, Experiment]:
        assert baseline == "abc"
        found = dict(self.known)
        for name, one in self.known.items():
            if one.state == RUNNING:
                state = self.bad.pop(name, DONE)
                metrics = {"score/bleu.score": float(one.params["model.layers"])}
                self.known[name] = one._replace(
                    state=state, metrics=metrics if state == DONE else {}
                )
        return found

    def queue(self, trial: Trial) -> None:
        self.did.append(f"queue {trial.name}")
        params = {**flatten(read_params()), **trial.values}
        self.known[trial.name] = Experiment(trial.name, QUEUED, params, {})

    def forget(self, name: str) -> None:
        self.did.append(f"forget {name}")
        del self.known[name]

    def start(self, jobs: int) -> None:
        self.did.append(f"start {jobs}")
        self.known = {
            name: one._replace(state=RUNNING) if one.state == QUEUED else one
            for name, one in self.known.items()
        }


@pytest.fixture
def run(project: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a sweep over a stand-in for DVC."""

    def swept(queue: Queue, *arguments: str) -> int:
        for name in ("read", "queue", "forget", "start"):
            monkeypatch.setattr(experiments, name, getattr(queue, name))
        monkeypatch.setattr(experiments, "head", lambda: "abc")
        monkeypatch.setattr(sweep, "NAP", 0.0)
        monkeypatch.setattr(sweep, "PATIENCE", 0.0)
        return sweep.main(arguments)

    return swept


ONE = ("--metric", "score/bleu.score")


def test_a_sweep_that_failed_goes_on(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    queue = Queue({}, bad={"layers2": FAILED})
    assert run(queue, LAYERS, "--jobs", "2", *ONE) == 1
    assert queue.did == ["queue layers1", "queue layers2", "queue layers3", "start 2"]
    told = capsys.readouterr()
    assert [line.split() for line in told.out.splitlines()[1:]] == [
        ["layers3", "3", "3.0"],
        ["layers1", "1", "1.0"],
        ["layers2", "2", "-"],
    ]
    assert "layers2 failed; see `dvc queue logs layers2`" in told.err
    queue.did.clear()
    assert run(queue, LAYERS, *ONE) == 0
    assert queue.did == ["forget layers2", "queue layers2", "start 1"]
    assert capsys.readouterr().out.splitlines()[2].split() == ["layers2", "2", "2.0"]
    queue.did.clear()
    assert run(queue, LAYERS, *ONE) == 0
    assert queue.did == [], "all is done, the table alone is shown"


def test_other_parameters_under_a_name_are_told(run: Any, project: Path) -> None:
    queue = Queue({}, bad={})
    run(queue, LAYERS, *ONE)
    text = (project / "params.yaml").read_text(encoding="utf-8")
    (project / "params.yaml").write_text(
        text.replace("d_ff: 768", "d_ff: 512"), encoding="utf-8", newline="\n"
    )
    with pytest.raises(ParamsError, match=r"layers1: it is there with model\.d_ff 768"):
        run(queue, LAYERS, *ONE)


def test_workers_that_never_come_are_told(run: Any) -> None:
    queue = Queue({}, bad={})
    queue.start = lambda _: None  # type: ignore[method-assign]
    with pytest.raises(Exception, match=r"layers1: queued, and no worker on it.*celery"):
        run(queue, LAYERS)


def test_an_unknown_metric_is_told_with_those_nearby(run: Any) -> None:
    with pytest.raises(ParamsError, match=r"score/blue\.score: .*expected score/bleu\.score"):
        run(Queue({}, bad={}), LAYERS, "--metric", "score/blue.score")


@pytest.mark.parametrize(
    ("metric", "best"),
    [
        ("score/bleu.score", "b"),
        ("score/ter.score", "a"),
        ("train/best.loss", "a"),
        ("score/health.any", "a"),
        ("decode/empty", "a"),
    ],
)
def test_the_best_comes_first(metric: str, best: str) -> None:
    trials = [Trial(name, {}) for name in "cba"]
    values = {"a": 1.0, "b": 2.0, "c": math.nan}
    found = {name: Experiment(name, DONE, {}, {metric: values[name]}) for name in "abc"}
    ranked = [trial.name for trial in sweep.rank(trials, found, [metric])]
    assert ranked == [best, "b" if best == "a" else "a", "c"]


@pytest.mark.parametrize(
    ("executor", "error", "state"),
    [
        (None, None, DONE),  # one that ran in the workspace or with --temp
        ({"state": "success"}, None, DONE),
        ({"state": "queued"}, None, QUEUED),
        ({"state": "running"}, None, RUNNING),
        ({"state": "running", "local": {"pid": os.getpid()}}, None, RUNNING),
        ({"state": "running", "local": {"pid": 2**22 + 1}}, None, ENDING),  # no such process
        ({"state": "failed"}, {"msg": "Experiment run failed"}, FAILED),
        (None, {"msg": "its files cannot be read"}, FAILED),
    ],
)
def test_records_of_dvc_are_read(
    monkeypatch: pytest.MonkeyPatch, executor: Any, error: Any, state: str
) -> None:
    data = {
        "params": {"params.yaml": {"data": {"model": {"layers": 2}}}},
        "metrics": {"metrics/score.json": {"data": {"bleu": {"score": 1.5, "signature": "x"}}}},
    }
    trial = {"name": "a", "executor": executor, "revs": [{"data": data, "error": error}]}
    told = json.dumps([{"rev": "workspace"}, {"rev": "abc", "experiments": [trial]}])
    monkeypatch.setattr(experiments, "ask_dvc", lambda *_: told)
    metrics = {"score/bleu.score": 1.5} if state == DONE else {}
    assert experiments.read("abc") == {"a": Experiment("a", state, {"model.layers": 2}, metrics)}


def test_what_a_command_tells_is_one_line() -> None:
    with pytest.raises(ParamsError, match=r"exp nonsense: .*invalid choice"):
        experiments._dvc("exp", "nonsense")


def test_workers_that_live_on_are_not_waited_for() -> None:
    began = time.monotonic()
    assert experiments._run("sh", "-c", "sleep 30 & echo started") == "started\n"
    assert time.monotonic() - began < 15
