"""What stages left behind in a folder, for the rows of those that did not run."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hanyi.tracking.mirror import Mirror, Point

METRICS = Path("metrics")
CURVE = "curve.csv"
STEP = "step"


def complete(mirror: Mirror, folder: Path, stages: Iterable[str], moment: int) -> None:
    """Log metrics, curve and report files of stages from the workspace in `folder`, where missing.

    DVC does not run what is unchanged, but the row shall show every stage.
    """
    for stage in stages:
        if (values := _read_metrics(folder / METRICS / f"{stage}.json")) is not None:
            mirror.stage(stage, values, moment)
        made = folder / METRICS / stage
        if (made / CURVE).is_file():
            mirror.curve(list(_points(made / CURVE, stage, moment)))
        for file in sorted(made.glob("*")):
            if file.is_file():
                mirror.missing_artifact(file, stage)


def _read_metrics(path: Path) -> dict[str, Any] | None:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # the stage itself says so
        return None
    return values if isinstance(values, dict) else None


def _points(path: Path, stage: str, moment: int) -> Iterator[Point]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            step = int(row.pop(STEP))
            for name, value in row.items():
                yield f"{stage}/{name}", float(value), step, moment
