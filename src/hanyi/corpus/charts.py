"""The funnel as a picture and as a table for `dvc plots`."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hanyi.corpus.funnel import Step, changed, percent

COLUMNS = ("step", "taken", "share", "left", "changed_src", "changed_tgt")
LEFT, TAKEN, KEPT = "#8fb3d9", "#e8837e", "#7fbf7f"
CHANGED = {"src": "#e68a2e", "tgt": "#f2bd7f"}
WIDTH, TOP, BAR, BOTTOM = 11.0, 0.3, 0.28, 0.35  # inches; a bar with its gap
MARGIN, LETTER = 0.15, 0.08  # inches
ROOM = 0.4  # share of the width beside the longest bar, for its label
LEAST = 0.7  # where the logarithmic axis begins, so that one row is seen
FORMATS = ("png", "svg")


def write_csv(path: Path, steps: Sequence[Step], read: int) -> None:
    """Write a line for each step; shares are of the rows read."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for step in steps:
            share = f"{step.taken / max(read, 1):.6f}"
            writer.writerow([step.name, step.taken, share, step.left, step.src, step.tgt])


def write_pictures(directory: Path, steps: Sequence[Step], read: int) -> None:
    """Draw `funnel.png` and `funnel.svg`: what each step leaves, and what it takes or changes.

    The second half is logarithmic: most steps take too little to be seen beside what they leave.
    """
    # Without pyplot there is no global state and no window system.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    kept = steps[-1].left
    names = ["read", *(step.name for step in steps), "kept"]
    height = TOP + BAR * len(names) + BOTTOM
    figure = Figure(figsize=(WIDTH, height), dpi=120)
    FigureCanvasAgg(figure)
    lefts, changes = figure.subplots(1, 2, sharey=True)
    # By hand: a layout that looks for itself draws everything several times.
    names_width = MARGIN + LETTER * max(map(len, names))
    figure.subplots_adjust(
        left=names_width / WIDTH,
        right=1 - MARGIN / WIDTH,
        bottom=BOTTOM / height,
        top=1 - TOP / height,
        wspace=0.03,
    )
    _draw_lefts(lefts, steps, read)
    _draw_changes(changes, steps, read)
    lefts.set_yticks(range(len(names)), names)
    lefts.set_ylim(len(names) - 0.5, -0.5)
    lefts.set_title(f"{kept:,} of {read:,} rows kept ({percent(kept, read)})", **_title())
    changes.set_title("Rows taken, texts changed (logarithmic)", **_title())
    for axes in (lefts, changes):
        axes.tick_params(axis="y", length=0, labelsize=9)
        axes.tick_params(axis="x", labelsize=8)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.xaxis.set_major_formatter(_short)
        axes.set_axisbelow(True)
        axes.grid(axis="x", alpha=0.25)
    save(figure, directory, "funnel")


def save(figure: Any, directory: Path, name: str) -> None:
    """Write a figure in every format of `FORMATS`; its bytes depend on what is drawn alone."""
    from matplotlib import rc_context

    # Versions, dates and names made by chance would stand in the files too.
    unset: dict[str, dict[str, None]] = {
        "png": {"Software": None},
        "svg": {"Creator": None, "Date": None},
    }
    with rc_context({"svg.hashsalt": name}):
        for kind in FORMATS:
            figure.savefig(directory / f"{name}.{kind}", format=kind, metadata=unset[kind])


def _draw_lefts(axes: Any, steps: Sequence[Step], read: int) -> None:
    rows = [read, *(step.left for step in steps), steps[-1].left]
    taken = [0, *(step.taken for step in steps), 0]
    places = range(len(rows))
    axes.barh(places, rows, color=[*[LEFT] * (len(rows) - 1), KEPT], height=0.75)
    axes.barh(places, taken, left=rows, color=TAKEN, height=0.75)
    axes.set_xlim(0, max(read, 1) * 1.02)
    for place, count in enumerate(rows):
        _label(axes, 0, place, f"{count:,}  {percent(count, read)}")


def _draw_changes(axes: Any, steps: Sequence[Step], read: int) -> None:
    most = max(2, *(max(step.taken, step.src, step.tgt) for step in steps))
    axes.set_xscale("log")
    axes.minorticks_off()
    # A label begins where its bar ends, so the axis goes on for as long as a label is.
    axes.set_xlim(LEAST, LEAST * (most / LEAST) ** (1 / (1 - ROOM)))
    axes.set_xticks([10**power for power in range(math.ceil(math.log10(most)) + 1)])
    places = range(1, len(steps) + 1)
    axes.barh(places, [step.taken for step in steps], color=TAKEN, height=0.75)
    for side, counts, shift in (
        ("src", [step.src for step in steps], -0.19),
        ("tgt", [step.tgt for step in steps], 0.19),
    ):
        axes.barh([place + shift for place in places], counts, color=CHANGED[side], height=0.37)
    for place, step in zip(places, steps, strict=True):
        taken = f"{step.taken:,}  {percent(step.taken, read)}" if step.taken else "0"
        end = max(step.taken, step.src, step.tgt, LEAST)
        colour = "#999999" if end == LEAST else "black"
        _label(axes, end, place, changed(step) if step.repairs else taken, colour)


def _short(value: float, _place: int) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def _label(axes: Any, end: float, place: int, text: str, colour: str = "black") -> None:
    axes.annotate(
        text,
        (end, place),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=colour,
    )


def _title() -> dict[str, Any]:
    return {"loc": "left", "fontsize": 10}
