"""The data of a run: what each step of `prepare` took or changed, and how long sentences are."""

from __future__ import annotations

from typing import Any

from hanyi.corpus.funnel import percent
from hanyi.report.charts import Series, lines
from hanyi.report.elements import Head, Markup, charts, details, section, table
from hanyi.report.run import Rows, Run

SPLITS = ("train", "valid", "test")
SIDES = {"src": "Source", "tgt": "Target"}
STYLES = {"train": "now", "valid": "now thin", "test": "before"}
PARTS = 100  # percent
COUNTS = ("taken", "changed_src", "changed_tgt")


def funnel(run: Run) -> Markup:
    """Give the steps that took or changed rows, and all of them to be opened."""
    rows: dict[str, Any] = run.metrics.get("prepare", {}).get("rows", {})
    if not rows or not run.funnel:
        return Markup("")
    splits = run.metrics["prepare"].get("splits", {})
    parts = ", ".join(f"{name} {splits[name]:,}" for name in SPLITS if name in splits)
    read, kept, rejected = (f"{rows[name]:,}" for name in ("read", "kept", "rejected"))
    told = f"{read} rows read, {kept} kept ({parts}), {rejected} rejected."
    busy = [row for row in run.funnel if any(int(row[name]) for name in COUNTS)]
    return section(
        "funnel",
        "Funnel",
        _steps(busy, rows["read"]),
        details(f"All {len(run.funnel)} steps", _steps(run.funnel, rows["read"])),
        note=told,
    )


def lengths(run: Run) -> Markup:
    """Draw how long the sentences of each split are."""
    rows = run.tables.get("chars", ())
    figures = []
    for side, title in SIDES.items():
        shares = {split: _shares(rows, f"{split}_{side}") for split in SPLITS}
        shown = max(
            (n for found in shares.values() for n, (_, y) in enumerate(found) if y), default=0
        )
        series = [Series(split, shares[split][: shown + 1], STYLES[split]) for split in SPLITS]
        name = f"{title}, % of sentences"
        figures.append(lines(name, series, "characters", from_zero=True, mark=None))
    return section("lengths", "Length of sentences", charts(*figures))


def _steps(rows: Rows, read: int) -> Markup:
    most = max((int(row["taken"]) for row in rows), default=0)
    cells = []
    for row in rows:
        taken = int(row["taken"])
        bar = f'<i class="bar" style="width:{PARTS * taken / most:.1f}%"></i>' if taken else ""
        cells.append(
            [
                row["step"],
                f"{taken:,}",
                percent(taken, read),
                Markup(f'<span class="track">{bar}</span>'),
                f"{int(row['left']):,}",
                f"{int(row['changed_src']):,}",
                f"{int(row['changed_tgt']):,}",
            ]
        )
    numbers = ("left", "sources changed", "targets changed")
    heads = [Head("step"), Head("taken", True), Head("share", True), Head("")]
    return table([*heads, *(Head(one, True) for one in numbers)], cells, "Steps of prepare")


def _shares(rows: Rows, name: str) -> list[tuple[float, float]]:
    return [(float(row["chars"]), PARTS * float(row[name])) for row in rows if row.get(name)]
