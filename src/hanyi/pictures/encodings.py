"""Positional encodings and masks as pictures, by the code that a model computes them with."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from hanyi.model.positions import ADDED
from hanyi.pictures.masks import MASKS, masks_of
from hanyi.pictures.saving import save
from hanyi.tokens.vocab import BOS, PAD

TITLES = {
    "interleaved": "interleaved (Vaswani et al. 2017, 3.5)",
    "concatenated": "concatenated (Tensor2Tensor)",
}
PADDING = 3  # tokens at the end of the masks' sentence


def draw_positions(path: Path, d_model: int, positions: int) -> None:
    """Save the encodings of the first positions in each layout, side by side."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    panels = figure.subplots(1, len(ADDED), sharey=True)
    for axes, (name, encoding) in zip(panels, ADDED.items(), strict=True):
        values = encoding(d_model)(0, positions)
        image = axes.imshow(values.numpy(), vmin=-1, vmax=1, cmap="RdBu", aspect="auto")
        axes.set_title(TITLES.get(name, name), fontsize=10, loc="left")
        axes.set_xlabel("dimension")
    panels[0].set_ylabel("position")
    figure.colorbar(image, ax=list(panels), shrink=0.8)
    save(figure, path)


def draw_masks(path: Path, length: int) -> None:
    """Save the masks of a sentence of so many tokens, the last ones padding; filled: attend."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    masks = masks_of([BOS] * (length - PADDING) + [PAD] * PADDING)
    for axes, name in zip(figure.subplots(1, len(MASKS)), MASKS, strict=True):
        axes.imshow(masks[name], vmin=0, vmax=1.3, cmap="Blues")
        axes.set_title({"both": "padding and causal"}.get(name, name), fontsize=10, loc="left")
        axes.set_xticks(range(length), fontsize=7, labels=_labels(length))
        axes.set_yticks(range(length), fontsize=7, labels=_labels(length))
        axes.set_xticks([place - 0.5 for place in range(1, length)], minor=True)
        axes.set_yticks([place - 0.5 for place in range(1, length)], minor=True)
        axes.grid(which="minor", color="white", linewidth=1)
        axes.tick_params(which="both", length=0)
    figure.supxlabel("may be attended to", fontsize=9)
    figure.supylabel("attends", fontsize=9)
    save(figure, path)


def _labels(length: int) -> list[str]:
    words = length - PADDING
    return [str(place) if place < words else "pad" for place in range(length)]
