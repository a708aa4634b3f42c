"""The learning curve as a table, a picture and a list of sample translations."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hanyi.artifacts import METRIC_DIGITS
from hanyi.metrics.lexical import LABELS, QUICK

COLUMNS = (
    "step",
    "epoch",
    "train_loss",
    "valid_loss",
    "perplexity",
    *QUICK,
    "learning_rate",
)

Row = Mapping[str, Any]

LINES = {
    **LABELS,
    "train_loss": "train",
    "valid_loss": "valid",
    "learning_rate": "learning rate",
}
COLOURS = {
    "bleu": "#1f77b4",
    "chrf": "#2ca02c",
    "train_loss": "#7f7f7f",
    "valid_loss": "#d62728",
    "learning_rate": "#9467bd",
}


def write_csv(path: Path, history: Sequence[Row]) -> None:
    """Write a row for each validation; no time in it, so equal runs give equal bytes."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in history:
            writer.writerow([_plain(row[name]) for name in COLUMNS])


def write_picture(path: Path, history: Sequence[Row], best_step: int) -> None:
    """Draw the curve as PNG: losses, scores of valid translations, learning rate.

    DVC's own plots load a script from the network; this one can be looked at anywhere.
    """
    # Without pyplot there is no global state and no window system.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    losses, scores, rates = figure.subplots(1, 3)
    for axes, names, title in (
        (losses, ("train_loss", "valid_loss"), "Loss (nats a token)"),
        (scores, QUICK, "Greedy translations of valid (0 to 100)"),
        (rates, ("learning_rate",), "Learning rate at each validation"),
    ):
        for name in names:
            steps = [row["step"] for row in history]
            values = [row[name] for row in history]
            axes.plot(
                steps, values, label=LINES.get(name, name), color=COLOURS.get(name), marker="."
            )
        axes.axvline(best_step, color="#999999", linewidth=0.8, linestyle="--", label="best")
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel("updates")
        axes.grid(alpha=0.25)
        if axes is not losses:
            axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    # The writer's version would make the bytes depend on more than the curve.
    figure.savefig(path, format="png", metadata={"Software": None})


def write_samples(path: Path, history: Sequence[Row]) -> None:
    """Write the sample translations of every validation as Markdown, the newest first."""
    lines = ["# Sample translations of the valid split", ""]
    for row in reversed(history):
        scores = ", ".join(f"{LABELS.get(name, name)} {row[name]:.1f}" for name in QUICK)
        lines += [f"## Update {row['step']} ({scores})", ""]
        for sample in row["samples"]:
            lines += [
                f"- {sample['src']} ({sample['corpus']})",
                f"  - reference: {sample['reference']}",
                f"  - model: {sample['hypothesis']}",
            ]
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")


def _plain(value: float) -> str:
    # Six decimals would leave nothing of a learning rate.
    return str(value) if isinstance(value, int) else f"{value:.{METRIC_DIGITS}g}"
