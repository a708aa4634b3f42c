"""Figures on disk, whole or not at all, with bytes that depend on what is drawn alone."""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from hanyi.artifacts import atomic_file

FORMATS = (".png", ".svg", ".pdf")
DOTS = 150  # of an inch

UNSET: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Creator": None, "Date": None},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
"""Versions and dates, which would stand in the files too."""


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of its name; raise `ArtifactError` when that cannot be."""
    kind = path.suffix
    with atomic_file(path) as temporary, rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(temporary, format=kind.lstrip("."), dpi=DOTS, metadata=UNSET.get(kind))
