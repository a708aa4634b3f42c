"""The files of a run, in the workspace or as a revision has them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from hanyi.errors import ArtifactError
from hanyi.revisions import git


class RunFiles(Protocol):
    """Files by their paths in the project, and the revision that they belong to."""

    name: str  # for messages
    revision: str  # full, of git; empty outside of it
    changed: bool  # tracked files differ from the revision

    def read(self, path: str) -> bytes | None:
        """Give the bytes of a file, None where there is none."""


class Workspace:
    """The files as they lie in the project."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.name = "the workspace"
        self.revision = git("rev-parse", "HEAD", root=root)
        self.changed = bool(self.revision) and bool(
            git(
                "--no-optional-locks",
                "status",
                "--porcelain",
                "--untracked-files=no",
                "--",
                ".",
                root=root,
            )
        )

    def read(self, path: str) -> bytes | None:
        """Give the bytes of a file, None where there is none."""
        try:
            return (self._root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            found = str(error.strerror).lower()
            raise ArtifactError(self._root / path, found, "a file", "mend it") from None
