"""Which experiment a stage belongs to: git revision, DVC experiment and parameters."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hanyi.artifacts import digest_bytes
from hanyi.params import flatten, read_params

NO_REVISION = "none"
OUTPUTS = ("outs", "metrics", "plots")  # kinds of outputs in dvc.yaml

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


def read_identity() -> tuple[Identity, dict[str, Any]]:
    """Read the identity from git, DVC's environment and `params.yaml`; give the parameters too.

    `dvc exp run` sets DVC_EXP_BASELINE_REV and DVC_EXP_NAME for its stages, `dvc repro` does not.
    """
    params = flatten(read_params())
    head = _git("rev-parse", "HEAD")
    exclude = [f":(exclude){name}" for name in NOT_CODE]
    identity = Identity(
        baseline=os.environ.get("DVC_EXP_BASELINE_REV") or head or NO_REVISION,
        experiment=os.environ.get("DVC_EXP_NAME", ""),
        params=params_digest(params),
        branch=_git("branch", "--show-current"),  # empty while DVC runs an experiment
        dirty=bool(head) and bool(_git("diff", "--name-only", "HEAD", "--", ".", *exclude)),
    )
    return identity, params


def params_digest(params: Mapping[str, Any]) -> str:
    """Give the digest of flat parameters, the same for every layout of the file."""
    # At full precision, not as metrics: two learning rates may differ in the seventh digit.
    return digest_bytes(json.dumps(params, sort_keys=True, default=str).encode("utf-8"))


def upstream(stage: str, wiring: Mapping[str, Any]) -> list[str]:
    """List the stages whose outputs lead to `stage`, from the contents of `dvc.yaml`.

    Their metrics files are up to date while it runs; those of later stages are not yet.
    """
    stages = wiring.get("stages", {})
    outs = {
        name: [_path(out) for kind in OUTPUTS for out in entry.get(kind, [])]
        for name, entry in stages.items()
    }
    found: list[str] = []
    waiting = [stage]
    while waiting:
        deps = [_path(dep) for dep in stages.get(waiting.pop(), {}).get("deps", [])]
        for name, paths in outs.items():
            if name not in found and any(_leads(out, dep) for out in paths for dep in deps):
                found.append(name)
                waiting.append(name)
    return [name for name in stages if name in found and name != stage]


def _path(entry: object) -> Path:
    # An output may carry settings: `{path: {cache: false}}`.
    return Path(str(next(iter(entry)) if isinstance(entry, Mapping) else entry))


def _leads(out: Path, dep: Path) -> bool:
    return out == dep or out in dep.parents or dep in out.parents


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, check=True, text=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
