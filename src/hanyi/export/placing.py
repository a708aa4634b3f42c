"""Where an export may go."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from hanyi.errors import ArtifactError

EXPECTED = "a new or empty folder, or an older export of the kind"
REMEDY = "give another name"


def require_room(target: Path, marker: str, contents: Collection[str]) -> None:
    """Raise `ArtifactError` unless `target` is new, empty or an older export of the kind.

    An older one has the file `marker` and nothing but `contents`, for it is taken away whole.
    """
    if not target.exists():
        return
    if not target.is_dir():
        raise ArtifactError(target, "a file", EXPECTED, REMEDY)
    others = sorted(path.name for path in target.iterdir() if path.name not in contents)
    if others:
        raise ArtifactError(target, f"a folder with {others[0]}", EXPECTED, REMEDY)
    if any(target.iterdir()) and not (target / marker).is_file():
        raise ArtifactError(target, f"a folder without {marker}", EXPECTED, REMEDY)
