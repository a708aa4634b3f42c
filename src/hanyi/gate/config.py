"""The `check` section of params.yaml."""

from __future__ import annotations

import math

from hanyi.params import config


@config
class CheckConfig:
    """What the gate holds scores against, by dotted name in metrics/score.json."""

    floors: dict[str, float]
    baseline: str | None
    significance: float
    max_drop: dict[str, float]

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name, floor in self.floors.items():
            if not math.isfinite(floor):
                raise ValueError(f"floors.{name} must be finite, got {floor}")
        for name, drop in self.max_drop.items():
            if not (math.isfinite(drop) and drop >= 0):
                raise ValueError(f"max_drop.{name} must be 0 or more, got {drop}")
        if not 0 < self.significance < 1:
            raise ValueError(f"significance must lie between 0 and 1, got {self.significance}")
