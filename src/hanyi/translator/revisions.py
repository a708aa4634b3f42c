"""Models of other revisions of a project: of commits, branches, tags and DVC experiments.

What a revision's `dvc.lock` names is copied out of DVC's cache into `.hanyi/models/`, below the
digest of model, tokenizers and parameters, so that it is copied once; the workspace stays as it is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from hanyi.artifacts import digest_bytes
from hanyi.errors import ArtifactError, ParamsError
from hanyi.params import PARAMS_FILE
from hanyi.revisions import EXPERIMENTS, Revision, file_at, git, not_in_cache
from hanyi.translator.folders import ModelFolder

KEPT = Path(".hanyi/models")
LOCK = "dvc.lock"
PARTS = ("models/transformer", "models/tokenizers")
SHORT = 10  # digits of a commit that are shown


def from_revision(name: str, project: Path) -> ModelFolder | None:
    """Give the model of a revision or experiment of a project, None where there is no such name.

    Raises `HanyiError` when the revision has no model, or when it is not in DVC's cache.
    """
    commit = _commit(name, project)
    if commit is None:
        return None
    lock, params = (
        file_at(commit, file, project).decode("utf-8") for file in (Path(LOCK), PARAMS_FILE)
    )
    digests = _outputs(lock, f"{name}:{LOCK}")
    if missing := [part for part in PARTS if part not in digests]:
        raise ArtifactError(
            f"{name}:{LOCK}",
            f"no {' and no '.join(missing)}",
            "a revision with a trained model",
            "name another, or train there (`dvc repro train`) and commit dvc.lock",
        )
    identity = " ".join([*(digests[part] for part in PARTS), params])
    folder = project / KEPT / digest_bytes(identity.encode("utf-8"))
    if not folder.is_dir():
        _fetch(name, commit, project, folder, params)
    model, tokenizers = (folder / Path(part).name for part in PARTS)
    return ModelFolder(model, tokenizers, folder / PARAMS_FILE, name, project, name)


def _commit(name: str, project: Path) -> str | None:
    """Give the commit of a revision, or of an experiment, whose refs git does not look through."""
    if found := git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", root=project):
        return found
    refs = git("for-each-ref", "--format=%(objectname) %(refname)", EXPERIMENTS, root=project)
    lines = [line.split(" ", 1) for line in refs.splitlines()]
    commits = {commit for commit, ref in lines if ref.rpartition("/")[2] == name}
    if len(commits) > 1:
        raise ParamsError(
            "--model",
            f"{name}, the name of {len(commits)} experiments",
            "one of them",
            f"name its commit: {', '.join(sorted(commit[:SHORT] for commit in commits))}",
        )
    return next(iter(commits), None)


def _outputs(lock: str, where: str) -> dict[str, str]:
    """Give the digest of each output in the text of a `dvc.lock`."""
    try:
        loaded: Any = YAML(typ="safe", pure=True).load(lock)
    except YAMLError as error:
        found = f"not to be read ({error})"
        raise ArtifactError(where, found, "what DVC wrote", "name another revision") from None
    stages = loaded.get("stages", {}) if isinstance(loaded, Mapping) else {}
    outs = [out for stage in stages.values() for out in stage.get("outs", [])]
    return {out["path"]: out["md5"] for out in outs if "md5" in out}


def _fetch(name: str, commit: str, project: Path, folder: Path, params: str) -> None:
    there = Revision(commit, project)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".copy-") as room:
        target = Path(room) / folder.name
        target.mkdir()
        if not all(there.copy(part, target / Path(part).name) for part in PARTS):
            raise not_in_cache(name, ", ".join(PARTS))
        if params:
            (target / PARAMS_FILE).write_text(params, encoding="utf-8", newline="\n")
        with suppress(OSError):  # another process was faster
            target.rename(folder)
