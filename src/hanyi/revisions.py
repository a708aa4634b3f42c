"""What git and DVC hold of other revisions: of commits, branches, tags and DVC experiments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hanyi.errors import ArtifactError, HanyiError, ParamsError

GIT_SECONDS = 30
DVC_SECONDS = 120
TRIES = 3
EXPERIMENTS = "refs/exps"  # where DVC keeps the commits of experiments


class Revision:
    """The files of a project as a git revision or a DVC experiment has them.

    What DVC tracks comes from its cache or its remote. The project may lie anywhere in its
    repository; paths are the project's own.
    """

    changed = False  # no file differs from the revision

    def __init__(
        self, name: str, root: Path | None = None, *, unknown: HanyiError | None = None
    ) -> None:
        """Open it in the project `root`, by default the folder that we are in.

        Raises `unknown` for a name that git and DVC do not know, by default a `ParamsError` of
        `--rev`; raises `ArtifactError` where `root` is no project of DVC.
        """
        from dvc.api import DVCFileSystem  # a second
        from dvc.exceptions import DvcException
        from dvc.scm import RevError, SCMError
        from dvc_data.index import DataIndexDirError

        root = (root or Path()).absolute()
        try:
            self._files = DVCFileSystem(url=str(root), rev=name, subrepos=True)
            self.revision = str(self._files.repo.get_rev())
        except (RevError, SCMError):
            raise unknown or unknown_revision(name) from None
        except DvcException as error:
            found = str(error)
            raise ArtifactError(root, found, "a project of DVC", "run from its root") from None
        self.name = name
        self._unreadable = (DvcException, DataIndexDirError, OSError)
        # Of a revision, DVC takes paths from the top of the repository.
        self._top = git("rev-parse", "--show-prefix", root=root)

    def read(self, path: str | Path) -> bytes | None:
        """Give the bytes of a file, None where it is neither in git nor in DVC's cache."""
        try:
            return bytes(self._files.cat_file(self._at(path)))
        except self._unreadable:
            return None

    def knows(self, path: str | Path) -> bool:
        """Tell whether git or a `dvc.lock` names a file or folder; its bytes may be missing."""
        try:
            return bool(self._files.exists(self._at(path)))
        except self._unreadable:  # the list of a folder that it lies in is missing
            return True

    def copy(self, path: str | Path, target: Path) -> bool:
        """Copy a file or a folder; False where a part is neither in git nor in DVC's cache."""
        try:
            self._files.get(self._at(path), str(target), recursive=True)
        except self._unreadable:
            return False
        return True

    def _at(self, path: str | Path) -> str:
        return f"{self._top}{Path(path).as_posix()}"


def unknown_revision(name: str) -> ParamsError:
    """Give the error for a name that `--rev` gave and nobody knows."""
    return ParamsError(
        "--rev",
        f"no revision or experiment {name}",
        "a git revision or the name of a DVC experiment",
        "look at `git log` and `dvc exp list`",
    )


def not_in_cache(name: str, what: str) -> ArtifactError:
    """Give the error for outputs of a revision that are nowhere to be had."""
    return ArtifactError(
        f"{name}:{what}",
        "neither in git nor in DVC's cache",
        "what the revision made",
        f"fetch it (`dvc fetch --all-commits`), or build it there (`git switch {name}` and "
        "`dvc repro`)",
    )


def ask_dvc(*arguments: str, root: Path | None = None) -> str:
    """Give what a command of DVC prints that only looks; raise `ArtifactError` when it fails.

    It is asked again when it fails or does not answer: `dvc exp show` waits for ever if an
    experiment that it reads ends meanwhile and takes its workspace away.
    """
    command = [sys.executable, "-m", "dvc", *arguments]
    for _ in range(TRIES):
        try:
            done = subprocess.run(
                command,
                cwd=root,
                capture_output=True,
                encoding="utf-8",
                check=False,
                timeout=DVC_SECONDS,
            )
        except subprocess.TimeoutExpired:
            found = f"no answer in {DVC_SECONDS} seconds"
            continue
        if done.returncode == 0:
            return done.stdout
        found = " ".join(done.stderr.split())[-200:]
    where = f"dvc {' '.join(arguments[:2])}"
    raise ArtifactError(where, found, "a project of DVC", "run it where `dvc status` works")


def file_at(revision: str, path: Path, root: Path) -> bytes:
    """Give a file as git has it at a revision, or nothing."""
    return _git(root, "show", f"{revision}:./{path.as_posix()}")


def git(*arguments: str, root: Path | None = None) -> str:
    """Give what git answers in a folder, or nothing where it has no answer."""
    return _git(root, *arguments).decode("utf-8").rstrip("\n")


def _git(folder: Path | None, *arguments: str) -> bytes:
    command = ["git", *arguments]
    try:
        return subprocess.run(
            command, cwd=folder, capture_output=True, check=True, timeout=GIT_SECONDS
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return b""
