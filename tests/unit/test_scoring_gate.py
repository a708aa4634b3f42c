from __future__ import annotations

import math
from typing import Any

import pytest

from hanyi.errors import ParamsError
from hanyi.params import parse
from hanyi.scoring.gate import CheckConfig, judge

SIGNED = {"bleu.signature": "one", "corpora.hsk.bleu.signature": "one"}


def outcome(value: float | None, before: float | None = None, **values: Any) -> str:
    config = CheckConfig(
        floors=values.get("floors", {"bleu.score": 20.0}),
        baseline=None,
        max_drop=values.get("max_drop", {"bleu.score": 1.0}),
    )
    current = {"bleu.score": value, **SIGNED} if value is not None else dict(SIGNED)
    baseline = {"bleu.score": before, **SIGNED} if before is not None else None
    verdicts = judge(current, values.get("baseline", baseline), config)
    assert [verdict.metric for verdict in verdicts] == ["bleu.score"]
    assert verdicts[0].passed == verdicts[0].outcome.startswith("ok")
    return verdicts[0].outcome


@pytest.mark.parametrize(
    ("value", "before", "expected"),
    [
        (20.0, None, "ok"),
        (19.9, None, "under floor"),
        (None, None, "missing"),
        (math.nan, None, "not finite"),
        (math.inf, 30.0, "not finite"),
        (30.0, 31.0, "ok"),
        (30.3, 31.3, "ok"),  # 1.0000000000000036 in floating point
        (29.9, 31.0, "fell"),
        (40.0, 31.0, "ok"),
        (30.0, math.nan, "fell"),
        (19.0, 31.0, "under floor"),
        (None, 31.0, "missing"),
    ],
)
def test_outcomes(value: float | None, before: float | None, expected: str) -> None:
    assert outcome(value, before) == expected


def test_another_signature_is_not_comparable() -> None:
    baseline = {"bleu.score": 30.0, "bleu.signature": "two"}
    assert outcome(30.0, baseline=baseline) == "other signature"
    assert outcome(30.0, baseline={"bleu.score": 30.0}) == "other signature"


def test_a_metric_that_the_baseline_lacks_is_new() -> None:
    assert outcome(30.0, baseline={}) == "ok, new"
    assert outcome(10.0, baseline={}) == "under floor"


def test_a_floor_alone_is_not_compared_and_a_drop_alone_has_no_floor() -> None:
    assert outcome(25.0, 90.0, max_drop={}) == "ok"
    assert outcome(5.0, 5.5, floors={}) == "ok"
    assert outcome(None, None, floors={}) == "missing"


def test_a_part_is_held_against_its_own_signature() -> None:
    name = "corpora.hsk.bleu.score"
    config = CheckConfig(floors={}, baseline=None, max_drop={name: 1.0})
    current = {name: 12.0, **SIGNED}
    other = {**current, "corpora.hsk.bleu.signature": "two"}
    assert judge(current, {**current, "bleu.signature": "two"}, config)[0].passed
    assert not judge(current, other, config)[0].passed


@pytest.mark.parametrize(
    ("value", "before", "expected"),
    [
        (60.0, None, "ok"),
        (60.1, None, "over floor"),
        (59.0, 58.0, "ok"),
        (59.0, 57.9, "rose"),
        (40.0, 58.0, "ok"),
        (59.0, math.nan, "rose"),
    ],
)
def test_of_some_metrics_less_is_better(value: float, before: float | None, expected: str) -> None:
    for name in ("ter.score", "corpora.hsk.ter.score", "health.empty"):
        config = CheckConfig(floors={name: 60.0}, baseline=None, max_drop={name: 1.0})
        baseline = None if before is None else {name: before}
        assert judge({name: value}, baseline, config)[0].outcome == expected


@pytest.mark.parametrize("corpus", ["health", "ter", "news.ter", "a.health.b"])
def test_the_name_of_a_corpus_turns_nothing_round(corpus: str) -> None:
    better, worse = f"corpora.{corpus}.bleu.score", f"corpora.{corpus}.ter.score"
    config = CheckConfig(floors={better: 20.0, worse: 60.0}, baseline=None, max_drop={})
    found = judge({better: 30.0, worse: 70.0}, None, config)
    assert [verdict.outcome for verdict in found] == ["ok", "over floor"]


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [
        ("max_drop", {"bleu.score": -1.0}, "max_drop.bleu.score must be 0 or more"),
        ("floors", {"bleu.score": "high"}, "check.floors.bleu.score"),
        ("floors", {"bleu.score": math.nan}, "floors.bleu.score must be finite"),
        ("baseline", 3, "check.baseline"),
        ("floor", {}, "check.floor: unknown key"),
    ],
)
def test_params_are_checked(key: str, value: object, part: str) -> None:
    good: dict[str, object] = {"floors": {}, "baseline": None, "max_drop": {}}
    with pytest.raises(ParamsError) as caught:
        parse("check", CheckConfig, {**good, key: value})
    assert part in str(caught.value)
