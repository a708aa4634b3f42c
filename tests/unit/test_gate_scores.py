from __future__ import annotations

import math
from typing import Any

import pytest

from hanyi.errors import ParamsError
from hanyi.gate.config import CheckConfig
from hanyi.gate.scores import check_signatures, judge
from hanyi.params import parse
from hanyi.scoring.significance import Comparison

SIGNED = {"bleu.signature": "one", "corpora.hsk.bleu.signature": "one"}


def untested(name: str) -> Comparison | None:
    """Stand for a side without sentences."""
    return None


def outcome(value: float | None, before: float | None = None, **values: Any) -> str:
    config = CheckConfig(
        floors=values.get("floors", {"bleu.score": 20.0}),
        baseline=None,
        significance=0.05,
        max_drop=values.get("max_drop", {"bleu.score": 1.0}),
    )
    current = {"bleu.score": value, **SIGNED} if value is not None else dict(SIGNED)
    baseline = {"bleu.score": before, **SIGNED} if before is not None else None
    verdicts = judge(
        current, values.get("baseline", baseline), config, values.get("compare", untested)
    )
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


@pytest.mark.parametrize(
    ("value", "before", "p_value", "expected"),
    [
        (30.0, 31.0, 0.049, "significantly worse"),
        (30.0, 31.0, 0.05, "ok"),
        (20.5, 80.0, 0.2, "ok"),  # the test decides, not the drop
        (30.99, 31.0, 0.01, "significantly worse"),  # however small
        (32.0, 31.0, 0.001, "ok"),
        (19.0, 31.0, 0.5, "under floor"),
    ],
)
def test_the_paired_test_decides_where_it_is_at_hand(
    value: float, before: float, p_value: float, expected: str
) -> None:
    def compare(name: str) -> Comparison:
        assert name == "bleu.score"
        return Comparison(before, value, p_value)

    assert outcome(value, before, compare=compare) == expected


@pytest.mark.parametrize(("before", "expected"), [(60.0, "ok"), (58.0, "significantly worse")])
def test_of_some_metrics_more_is_significantly_worse(before: float, expected: str) -> None:
    name = "corpora.hsk.ter.score"
    config = CheckConfig(floors={}, baseline=None, significance=0.05, max_drop={name: 9.0})
    verdict = judge({name: 59.0}, {name: before}, config, lambda _: Comparison(before, 59.0, 0.01))[
        0
    ]
    assert verdict.outcome == expected
    assert (verdict.p_value, verdict.max_drop) == (0.01, None)


def test_every_signature_is_held_against_the_baselines() -> None:
    assert all(found.passed for found in check_signatures(SIGNED, SIGNED, "main"))
    changed = {**SIGNED, "corpora.hsk.bleu.signature": "two", "new.signature": "x"}
    found = [one for one in check_signatures(changed, SIGNED, "main") if not one.passed]
    assert [one.where for one in found] == ["corpora.hsk.bleu.signature"]
    assert found[0].outcome == "two, main has one"


def test_a_part_is_held_against_its_own_signature() -> None:
    name = "corpora.hsk.bleu.score"
    config = CheckConfig(floors={}, baseline=None, significance=0.05, max_drop={name: 1.0})
    current = {name: 12.0, **SIGNED}
    other = {**current, "corpora.hsk.bleu.signature": "two"}
    assert judge(current, {**current, "bleu.signature": "two"}, config, untested)[0].passed
    assert not judge(current, other, config, untested)[0].passed


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
        config = CheckConfig(
            floors={name: 60.0}, baseline=None, significance=0.05, max_drop={name: 1.0}
        )
        baseline = None if before is None else {name: before}
        assert judge({name: value}, baseline, config, untested)[0].outcome == expected


@pytest.mark.parametrize("corpus", ["health", "ter", "news.ter", "a.health.b"])
def test_the_name_of_a_corpus_turns_nothing_round(corpus: str) -> None:
    better, worse = f"corpora.{corpus}.bleu.score", f"corpora.{corpus}.ter.score"
    config = CheckConfig(
        floors={better: 20.0, worse: 60.0}, baseline=None, significance=0.05, max_drop={}
    )
    found = judge({better: 30.0, worse: 70.0}, None, config, untested)
    assert [verdict.outcome for verdict in found] == ["ok", "over floor"]


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [
        ("max_drop", {"bleu.score": -1.0}, "max_drop.bleu.score must be 0 or more"),
        ("floors", {"bleu.score": "high"}, "check.floors.bleu.score"),
        ("floors", {"bleu.score": math.nan}, "floors.bleu.score must be finite"),
        ("baseline", 3, "check.baseline"),
        ("significance", 1.0, "significance must lie between 0 and 1"),
        ("significance", 0.0, "significance must lie between 0 and 1"),
        ("floor", {}, "check.floor: unknown key"),
    ],
)
def test_params_are_checked(key: str, value: object, part: str) -> None:
    good: dict[str, object] = {"floors": {}, "baseline": None, "significance": 0.05, "max_drop": {}}
    with pytest.raises(ParamsError) as caught:
        parse("check", CheckConfig, {**good, key: value})
    assert part in str(caught.value)
