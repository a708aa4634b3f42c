"""The report's picture: how sentences score, where they fail, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hanyi.analysis.sentences import Sentences
from hanyi.analysis.tables import Cell, Table
from hanyi.corpus.charts import save

SIZE = (11.0, 7.0)  # inches
BIN = 5  # points of chrF
BAR, GOOD, BAD = "#8fb3d9", "#7fbf7f", "#e8837e"


def write_pictures(directory: Path, sentences: Sentences, tables: Sequence[Table]) -> None:
    """Draw `scores.png` and `scores.svg`; their bytes depend on the scores alone."""
    # Without pyplot there is no global state and no window system.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    named = {table.name: table for table in tables}
    figure = Figure(figsize=SIZE, dpi=120)
    FigureCanvasAgg(figure)
    (spread, length), (word, trouble) = figure.subplots(2, 2)
    figure.subplots_adjust(left=0.07, right=0.98, bottom=0.06, top=0.95, wspace=0.22, hspace=0.3)
    _draw_spread(spread, sentences)
    _draw_lengths(length, named["lengths"])
    _draw_words(word, named["words"])
    _draw_health(trouble, named["health"])
    for axes in (spread, length, word, trouble):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
        axes.set_axisbelow(True)
    save(figure, directory, "scores")


def _draw_spread(axes: Any, sentences: Sentences) -> None:
    edges = np.arange(0, 100 + BIN, BIN)
    counts, _ = np.histogram(np.clip(sentences.scores["chrf"], 0, 100), edges)
    axes.bar(edges[:-1], counts, width=BIN * 0.9, align="edge", color=BAR)
    axes.set_title("Sentences by their chrF", **_title())
    axes.grid(axis="y", alpha=0.25)


def _draw_lengths(axes: Any, table: Table) -> None:
    _columns(axes, table.of("src_words"), table.numbers_of("chrf"), table.numbers_of("rows"), BAR)
    axes.set_ylim(0, 105)
    axes.set_title("chrF by words of the source, with the number of rows", **_title())


def _draw_words(axes: Any, table: Table) -> None:
    percents = [100 * share for share in table.numbers_of("f1")]
    _columns(axes, table.of("occurrences"), percents, table.numbers_of("reference"), GOOD)
    axes.set_ylim(0, 105)
    axes.set_title("F1 of words (%) by occurrences in train, with their number", **_title())


def _draw_health(axes: Any, table: Table) -> None:
    names, counts = table.of("flag"), table.numbers_of("rows")
    axes.barh(range(len(names)), counts, color=BAD, height=0.75)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, max(1, *counts) * 1.15)
    axes.set_xticks([])  # each bar has its number
    for place, count in enumerate(counts):
        axes.annotate(f" {count:,.0f}", (count, place), va="center", fontsize=8)
    axes.set_title("Rows with signs of trouble", **_title())


def _columns(
    axes: Any, names: Sequence[Cell], heights: Sequence[float], counts: Sequence[float], colour: str
) -> None:
    axes.bar(range(len(names)), heights, color=colour, width=0.8)
    axes.set_xticks(range(len(names)), names)
    for place, (height, count) in enumerate(zip(heights, counts, strict=True)):
        axes.annotate(
            f"{count:,.0f}",
            (place, height),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    axes.grid(axis="y", alpha=0.25)


def _title() -> dict[str, Any]:
    return {"loc": "left", "fontsize": 10}
