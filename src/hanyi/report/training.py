"""How the training went: losses, scores of valid translations, learning rate."""

from __future__ import annotations

import math

from hanyi.metrics.lexical import LABELS, QUICK
from hanyi.report.charts import Series, lines
from hanyi.report.elements import Markup, charts, section
from hanyi.report.run import Rows, Run

STEPS = "updates"
LOSSES = {"train_loss": ("train", " thin"), "valid_loss": ("valid", "")}


def curves(run: Run, before: Run | None) -> Markup:
    """Draw the curves, over those of the baseline."""
    best = run.metrics.get("train", {}).get("best", {}).get("step")
    both = [("", "now", run.curve)]
    if before and before.curve:
        both.insert(0, (", baseline", "before", before.curve))
    loss = [
        Series(f"{label}{which}", _points(rows, name), style + thin)
        for which, style, rows in both
        for name, (label, thin) in LOSSES.items()
    ]
    figures = [lines("Loss, nats a token", loss, STEPS, mark=best)]
    for name in QUICK:
        title = f"{LABELS[name]} of valid, greedy"
        drawn = _over(both, name, LABELS[name])
        figures.append(lines(title, drawn, STEPS, mark=best, from_zero=True))
    rates = _over(both, "learning_rate", "learning rate")
    figures.append(lines("Learning rate", rates, STEPS, mark=best, from_zero=True))
    note = f"The model is that of update {best:,}." if best is not None else ""
    return section("curves", "Training", charts(*figures), note=note)


def _over(both: list[tuple[str, str, Rows]], name: str, label: str) -> list[Series]:
    return [Series(f"{label}{which}", _points(rows, name), style) for which, style, rows in both]


def _points(rows: Rows, name: str) -> list[tuple[float, float]]:
    found = [(float(row["step"]), float(row[name])) for row in rows if row.get(name)]
    return [point for point in found if math.isfinite(point[1])]
