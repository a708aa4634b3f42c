"""The lengths of sentences as a picture and as a table for `dvc plots`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from hanyi.corpus.charts import save
from hanyi.corpus.pairs import SIDES, SPLITS
from hanyi.corpus.sizes import Sizes

TITLES = {"src": "Source", "tgt": "Target"}
COLOURS = {"train": "#8fb3d9", "valid": "#7fbf7f", "test": "#e8837e"}
SIZE = (11.0, 3.6)  # inches


def write_csv(path: Path, sizes: Sizes) -> None:
    """Write a line for each range of lengths in characters, by where it begins."""
    begins, shares = sizes.shares()
    keys = [(split, side) for split in SPLITS for side in SIDES]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["chars", *(f"{split}_{side}" for split, side in keys)])
        for number, begin in enumerate(begins):
            found = (shares[key][number] if key in shares else 0.0 for key in keys)
            writer.writerow([begin, *(f"{share:.6f}" for share in found)])


def write_pictures(directory: Path, sizes: Sizes) -> None:
    """Draw `lengths.png` and `lengths.svg`, a half for each side."""
    # Without pyplot there is no global state and no window system.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    begins, shares = sizes.shares()
    figure = Figure(figsize=SIZE, dpi=120)
    FigureCanvasAgg(figure)
    figure.subplots_adjust(left=0.05, right=0.98, bottom=0.13, top=0.91, wspace=0.12)
    for axes, side in zip(figure.subplots(1, 2), SIDES, strict=True):
        _draw(axes, begins, {split: shares.get((split, side)) for split in SPLITS})
        axes.set_title(f"{TITLES[side]}, % of sentences by characters", loc="left", fontsize=10)
    save(figure, directory, "lengths")


def _draw(axes: Any, begins: list[int], shares: dict[str, list[float] | None]) -> None:
    edges = [*begins, begins[-1] + (begins[1] - begins[0])]
    longest = 1
    for split, found in shares.items():
        if found is None:
            continue
        percents = 100 * np.array(found)
        longest = max(longest, 1 + int(np.flatnonzero(percents).max()))
        style = {"fill": split == "train", "alpha": 0.55 if split == "train" else 1}
        axes.stairs(percents, edges, color=COLOURS[split], label=split, linewidth=1.5, **style)
    axes.set_xlim(0, edges[longest])
    axes.set_ylim(bottom=0)
    if longest == len(begins):  # the last range has no end
        ticks = [tick for tick in axes.get_xticks() if tick < 0.95 * begins[-1]]
        labels = [*(f"{tick:g}" for tick in ticks), f"{begins[-1]}+"]
        axes.set_xticks([*ticks, begins[-1]], labels)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)
    if any(shares.values()):
        axes.legend(frameon=False, fontsize=9)
