"""Where an export may go."""

from __future__ import annotations

from pathlib import Path

from hanyi.errors import ArtifactError

REMEDY = "give another name"


def require_room(target: Path, marker: str) -> None:
    """Raise `ArtifactError` unless `target` is new, empty or an older export of the kind.

    An older one is known by its file `marker`.
    """
    if not target.exists():
        return
    if not target.is_dir():
        raise ArtifactError(target, "a file", "a new folder", REMEDY)
    if any(target.iterdir()) and not (target / marker).is_file():
        raise ArtifactError(target, f"a folder without {marker}", "a new or empty folder", REMEDY)
