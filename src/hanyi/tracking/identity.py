"""Which experiment a stage belongs to: git revision, DVC experiment and parameters."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hanyi.artifacts import digest_bytes
from hanyi.params import PARAMS_FILE, flatten, read_params
from hanyi.revisions import EXPERIMENTS, git

NO_REVISION = "none"

# Their changes are the experiment itself: parameters are part of its identity, the rest follows.
NOT_CODE = ("params.yaml", "dvc.lock", "metrics", "data", "models")


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """What makes two stages part of one experiment, and what else names it for a reader."""

    baseline: str  # full git revision that the experiment starts from
    experiment: str  # DVC's name of it, or empty for a plain `dvc repro`
    params: str  # digest of the flattened parameters
    branch: str
    dirty: bool  # tracked code differs from the revision

    @property
    def key(self) -> str:
        """Give the tag by which the run is found again."""
        return f"{self.baseline}:{self.experiment}:{self.params}"

    @property
    def name(self) -> str:
        """Give the name of the run: DVC's, or short revision and start of the digest."""
        return self.experiment or f"{self.baseline[:7]}-{self.params[:4]}"


def project_root() -> Path:
    """Give the folder of the store: the main workspace, also from a temporary one."""
    return Path(os.environ.get("DVC_ROOT") or Path.cwd()).absolute()


def read_identity(file: Path = PARAMS_FILE) -> tuple[Identity, dict[str, Any]]:
    """Read the identity from git, DVC's environment and a parameter file; give its values too.

    `dvc exp run` sets DVC_EXP_BASELINE_REV and DVC_EXP_NAME for its stages, `dvc repro` does not.
    """
    params = flatten(read_params(file))
    return Identity(**read_origin(), params=params_digest(params)), params


def read_origin() -> dict[str, Any]:
    """Give all of the identity but the parameters."""
    head = git("rev-parse", "HEAD")
    exclude = [f":(exclude){name}" for name in NOT_CODE]
    return {
        "baseline": os.environ.get("DVC_EXP_BASELINE_REV") or head or NO_REVISION,
        "experiment": os.environ.get("DVC_EXP_NAME", ""),
        "branch": git("branch", "--show-current"),  # empty while DVC runs an experiment
        "dirty": bool(head) and bool(git("diff", "--name-only", "HEAD", "--", ".", *exclude)),
    }


def params_digest(params: Mapping[str, Any]) -> str:
    """Give the digest of flat parameters, the same for every layout of the file."""
    # At full precision, not as metrics: two learning rates may differ in the seventh digit.
    return digest_bytes(json.dumps(params, sort_keys=True, default=str).encode("utf-8"))


def experiment_revision(identity: Identity, root: Path) -> str:
    """Give the commit that DVC made for an experiment, or nothing before it has."""
    baseline, name = identity.baseline, identity.experiment
    ref = f"{EXPERIMENTS}/{baseline[:2]}/{baseline[2:]}/{name}"
    return git("rev-parse", "--verify", "--quiet", ref, root=root)
