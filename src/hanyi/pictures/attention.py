"""Attention as a picture: a map for each head."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from numpy.typing import NDArray

from hanyi.pictures.saving import save

log = logging.getLogger("hanyi.pictures")

FALLBACK = "DejaVu Sans"  # comes with matplotlib
COLUMNS = 4  # heads side by side, at most
INCHES_A_TOKEN = 0.28
INCHES_FOR_LABELS = 1.2


def draw_attention(
    path: Path,
    weights: NDArray[Any],
    rows: Sequence[tuple[int, str]],
    columns: Sequence[tuple[int, str]],
) -> None:
    """Save the maps of each head, `[heads, q_len, k_len]`, as one picture.

    Rows (target) and columns (source) are tokens as id and text; where no installed font has the
    characters of a text, the id stands for it. Raises `ArtifactError` when the file cannot be
    written.
    """
    fonts = fonts_for(text for _, text in [*rows, *columns])
    labels = [
        [f"#{number}" if lacking(text, fonts) else text for number, text in side]
        for side in (rows, columns)
    ]
    heads = len(weights)
    across = min(COLUMNS, heads)
    down = math.ceil(heads / across)
    width = across * (INCHES_FOR_LABELS + INCHES_A_TOKEN * len(columns))
    height = down * (INCHES_FOR_LABELS + INCHES_A_TOKEN * len(rows))
    figure = Figure(figsize=(width, height), layout="constrained")
    for head, axes in enumerate(figure.subplots(down, across, squeeze=False).flat):
        if head >= heads:
            axes.axis("off")
            continue
        axes.imshow(weights[head], vmin=0, vmax=1, cmap="Blues")
        axes.set_title(f"head {head + 1}", fontsize=9)
        axes.set_yticks(range(len(rows)), labels[0], fontsize=8, family=fonts)
        axes.set_xticks(range(len(columns)), labels[1], fontsize=8, family=fonts, rotation=90)
    save(figure, path)
    if any(label.startswith("#") for side in labels for label in side):
        log.warning("no installed font has all characters, so some tokens are shown by number")


def fonts_for(texts: Iterable[str]) -> list[str]:
    """Give families that together have the characters, as far as one more font can."""
    wanted = lacking("".join(texts), [FALLBACK])
    if not wanted:
        return [FALLBACK]
    names = {font.name for font in font_manager.fontManager.ttflist}
    # matplotlib brings a last-resort font too, whose glyph for every character is a box.
    families = sorted(name for name in names if "lastresort" not in name.replace(" ", "").lower())
    best = min(families, key=lambda family: len(lacking(wanted, [family])))
    return [best, FALLBACK] if lacking(wanted, [best]) != wanted else [FALLBACK]


def lacking(characters: Iterable[str], families: Sequence[str]) -> set[str]:
    """Give the characters that none of these families has."""
    fonts = [FT2Font(_file(family)) for family in families]
    return {
        character
        for character in characters
        if not any(font.get_char_index(ord(character)) for font in fonts)
    }


def _file(family: str) -> str:
    upright = [font for font in font_manager.fontManager.ttflist if font.name == family]
    nearest = min(
        upright, key=lambda font: (font.style != "normal", abs(_weight(font.weight) - 400))
    )
    return str(nearest.fname)


def _weight(weight: int | str) -> int:
    return weight if isinstance(weight, int) else font_manager.weight_dict.get(weight, 400)
