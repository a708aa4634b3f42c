"""Pictures of what a model does."""

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

from hanyi.artifacts import atomic_file

log = logging.getLogger("hanyi.pictures")

FALLBACK = "DejaVu Sans"  # comes with matplotlib
FORMATS = (".png", ".svg", ".pdf")
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
    drawable = _characters(fonts)
    labels = [
        [text if set(text) <= drawable else f"#{number}" for number, text in side]
        for side in (rows, columns)
    ]
    if any(label.startswith("#") for side in labels for label in side):
        log.warning("no installed font has all characters, so some tokens are shown by number")
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
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip("."), dpi=150)


def fonts_for(texts: Iterable[str]) -> list[str]:
    """Give families that together have the characters, as far as one more font can."""
    wanted = set("".join(texts)) - _characters([FALLBACK])
    if not wanted:
        return [FALLBACK]
    best, most = None, 0
    for name in sorted({font.name for font in font_manager.fontManager.ttflist}):
        covered = len(wanted & _characters([name]))
        if covered > most:
            best, most = name, covered
        if most == len(wanted):
            break
    return [best, FALLBACK] if best else [FALLBACK]


def _characters(families: Sequence[str]) -> set[str]:
    files = [font_manager.findfont(family) for family in families]
    return {chr(code) for file in files for code in FT2Font(file).get_charmap()}
