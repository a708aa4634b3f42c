"""The gate: which metrics are missing, not finite, worse than allowed or fell too far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from hanyi.metrics.lexical import METRICS
from hanyi.params import config

# Metrics files hold 6 digits; a fall of exactly the allowed drop must not fail by rounding.
TOLERANCE = 1e-6

HEALTH = "health."  # counts of rows with signs of trouble
LOWER_IS_BETTER = {name for name, metric in METRICS.items() if not metric.higher_is_better}
"""Such a value fails over its floor and by rising."""

OK = "ok"
NEW = "ok, new"
MISSING = "missing"
NOT_FINITE = "not finite"
UNDER_FLOOR = "under floor"
OVER_FLOOR = "over floor"
FELL = "fell"
ROSE = "rose"
OTHER_SIGNATURE = "other signature"


@config
class CheckConfig:
    """The `check` section: worst values and allowed falls by dotted name in metrics/score.json."""

    floors: dict[str, float]
    baseline: str | None
    max_drop: dict[str, float]

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name, floor in self.floors.items():
            if not math.isfinite(floor):
                raise ValueError(f"floors.{name} must be finite, got {floor}")
        for name, drop in self.max_drop.items():
            if not (math.isfinite(drop) and drop >= 0):
                raise ValueError(f"max_drop.{name} must be 0 or more, got {drop}")


class Verdict(NamedTuple):
    """What was found for one metric, and what it was held against."""

    metric: str
    value: float | None
    floor: float | None
    baseline: float | None
    max_drop: float | None
    outcome: str

    @property
    def passed(self) -> bool:
        """Say whether the metric lets the gate open."""
        return self.outcome in {OK, NEW}


def judge(
    current: Mapping[str, Any], baseline: Mapping[str, Any] | None, config: CheckConfig
) -> list[Verdict]:
    """Judge each metric that has a floor or an allowed drop, by flat names.

    Without a baseline only the floors count. A metric that the baseline lacks is new and passes.
    """
    names = list(dict.fromkeys([*config.floors, *config.max_drop]))
    return [_judge(name, current, baseline, config) for name in names]


def _judge(
    name: str,
    current: Mapping[str, Any],
    baseline: Mapping[str, Any] | None,
    config: CheckConfig,
) -> Verdict:
    value = _number(current.get(name))
    sign = 1 if _higher_is_better(name) else -1
    floor = config.floors.get(name)
    compared = baseline is not None and name in config.max_drop
    drop = config.max_drop[name] if compared else None
    before = _number(baseline.get(name)) if baseline is not None and compared else None
    if value is None:
        outcome = MISSING
    elif not math.isfinite(value):
        outcome = NOT_FINITE
    elif floor is not None and sign * (value - floor) < -TOLERANCE:
        outcome = UNDER_FLOOR if sign > 0 else OVER_FLOOR
    elif drop is None:
        outcome = OK
    elif before is None:
        outcome = NEW
    elif _signature(name, current) != _signature(name, baseline or {}):
        outcome = OTHER_SIGNATURE
    elif not sign * (before - value) <= drop + TOLERANCE:  # so written, a NaN before fails too
        outcome = FELL if sign > 0 else ROSE
    else:
        outcome = OK
    return Verdict(name, value, floor, before, drop, outcome)


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
    return metrics.get(f"{name.rpartition('.')[0]}.signature")
