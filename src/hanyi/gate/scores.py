"""Which scores are missing, not finite, under their floor or worse than the baseline's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hanyi.gate.config import CheckConfig
from hanyi.gate.finding import OK, Finding, failed, passed
from hanyi.metrics.lexical import METRICS
from hanyi.scoring.significance import Comparison

# Metrics files hold 6 digits; a fall of exactly the allowed drop must not fail by rounding.
TOLERANCE = 1e-6

SIGNATURE = ".signature"
HEALTH = "health."  # counts of rows with signs of trouble
LOWER_IS_BETTER = {name for name, metric in METRICS.items() if not metric.higher_is_better}
"""Such a value fails over its floor and by rising."""

NEW = "ok, new"
MISSING = "missing"
NOT_FINITE = "not finite"
UNDER_FLOOR = "under floor"
OVER_FLOOR = "over floor"
FELL = "fell"
ROSE = "rose"
WORSE = "significantly worse"
OTHER_SIGNATURE = "other signature"


class Verdict(NamedTuple):
    """What was found for one metric, and what it was held against.

    Of `p_value` and `max_drop` one at most is given: the one that decided.
    """

    metric: str
    value: float | None
    floor: float | None
    baseline: float | None
    max_drop: float | None
    p_value: float | None
    outcome: str

    @property
    def passed(self) -> bool:
        """Say whether the metric lets the gate open."""
        return self.outcome in {OK, NEW}


Compare = Callable[[str], Comparison | None]


def judge(
    current: Mapping[str, Any],
    baseline: Mapping[str, Any] | None,
    config: CheckConfig,
    compare: Compare,
) -> list[Verdict]:
    """Judge each metric that has a floor or is held against the baseline, by flat names.

    `compare` gives the paired test of a metric on the sentences; where it gives none, the allowed
    drop decides. Without a baseline only the floors count. A metric that the baseline lacks is new
    and passes.
    """
    names = list(dict.fromkeys([*config.floors, *config.max_drop]))
    return [_judge(name, current, baseline, config, compare) for name in names]


def check_signatures(
    current: Mapping[str, Any], baseline: Mapping[str, Any], revision: str
) -> list[Finding]:
    """Hold each signature against the baseline's: other settings give other scores."""
    shared = [name for name in current if name.endswith(SIGNATURE) and name in baseline]
    other = [
        failed("signatures", name, f"{current[name]}, {revision} has {baseline[name]}")
        for name in shared
        if current[name] != baseline[name]
    ]
    return other or [passed("signatures", revision, f"ok, {len(shared)} are the same")]


def _judge(
    name: str,
    current: Mapping[str, Any],
    baseline: Mapping[str, Any] | None,
    config: CheckConfig,
    compare: Compare,
) -> Verdict:
    value, floor = _number(current.get(name)), config.floors.get(name)
    held = baseline is not None and name in config.max_drop
    before = _number(baseline.get(name)) if baseline is not None and held else None
    sign = 1 if _higher_is_better(name) else -1
    verdict = Verdict(name, value, floor, before, None, None, _alone(value, floor, sign))
    if not (held and verdict.passed):
        return verdict
    if before is None or value is None:
        return verdict._replace(outcome=NEW)
    if _signature(name, current) != _signature(name, baseline or {}):
        return verdict._replace(outcome=OTHER_SIGNATURE)
    if (found := compare(name)) is not None:
        worse = sign * found.difference < 0 and found.p_value < config.significance
        return verdict._replace(p_value=found.p_value, outcome=WORSE if worse else OK)
    drop = config.max_drop[name]
    holds = sign * (before - value) <= drop + TOLERANCE  # a NaN before does not
    fallen = FELL if sign > 0 else ROSE
    return verdict._replace(max_drop=drop, outcome=OK if holds else fallen)


def _alone(value: float | None, floor: float | None, sign: int) -> str:
    if value is None:
        return MISSING
    if not math.isfinite(value):
        return NOT_FINITE
    if floor is not None and sign * (value - floor) < -TOLERANCE:
        return UNDER_FLOOR if sign > 0 else OVER_FLOOR
    return OK


def _higher_is_better(name: str) -> bool:
    # Corpora may be called as they like: corpora.health.bleu.score.
    metric = name.rpartition(".")[0].rpartition(".")[2]
    return not (name.startswith(HEALTH) or metric in LOWER_IS_BETTER)


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


def _signature(name: str, metrics: Mapping[str, Any]) -> object:
    # `corpora.hsk.bleu.score` is signed by `corpora.hsk.bleu.signature`.
    return metrics.get(f"{name.rpartition('.')[0]}{SIGNATURE}")
