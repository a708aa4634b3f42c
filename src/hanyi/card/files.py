"""The files of a run, in the workspace or as a revision has them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from hanyi.errors import ArtifactError, ParamsError
from hanyi.tracking.identity import git


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


class Revision:
    """The files of a git revision or a DVC experiment, outputs from DVC's cache."""

    def __init__(self, root: Path, name: str) -> None:
        from dvc.api import DVCFileSystem  # seconds
        from dvc.exceptions import DvcException
        from dvc.scm import RevError

        try:
            self._files = DVCFileSystem(url=str(root), rev=name)
            self.revision = str(self._files.repo.get_rev())
        except RevError:
            raise ParamsError(
                "--rev",
                f"no revision or experiment {name}",
                "a git revision or the name of a DVC experiment",
                "look at `git log` and `dvc exp list`",
            ) from None
        except DvcException as error:
            found = str(error)
            raise ArtifactError(root, found, "a project of DVC", "run from its root") from None
        self.name = name
        self.changed = False

    def read(self, path: str) -> bytes | None:
        """Give the bytes of a file, None where there is none, nor one in DVC's cache."""
        from dvc.exceptions import DvcException

        try:
            return bytes(self._files.cat_file(path))
        except (DvcException, OSError):
            return None
