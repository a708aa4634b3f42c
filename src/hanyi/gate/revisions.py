"""Files and commits as git knows them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hanyi.errors import ParamsError


def git(*arguments: str) -> str | None:
    """Give what git prints, or None when it says no."""
    try:
        ended = subprocess.run(
            ["git", *arguments], capture_output=True, check=False, encoding="utf-8"
        )
    except FileNotFoundError:
        raise ParamsError("baseline", "git is missing", "it installed", "install git") from None
    return ended.stdout if ended.returncode == 0 else None


def require_revision(revision: str) -> None:
    """Raise `ParamsError` unless it names a commit."""
    commit = f"{revision}^{{commit}}"
    if git("rev-parse", "--verify", "--quiet", "--end-of-options", commit) is None:
        remedy = "fetch it or mend check.baseline"
        raise ParamsError("baseline", f"no revision {revision}", "a git revision", remedy)


def read_at(revision: str, path: Path) -> str | None:
    """Give the text of a file as a revision holds it, or None; `path` is relative to here."""
    return git("show", f"{revision}:./{path.as_posix()}")
