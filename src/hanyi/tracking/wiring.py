"""What `dvc.yaml` and `dvc.lock` say: which stages lead to which, and digests of what they made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from hanyi.params import PARAMS_FILE, read_params

WIRING = Path("dvc.yaml")
LOCK = Path("dvc.lock")
OUTPUTS = ("outs", "metrics", "plots")  # kinds of outputs in dvc.yaml
LOCK_TAG = "dvc.lock"


def read_wiring(folder: Path) -> dict[str, Any]:
    """Read the stages of a folder's `dvc.yaml`; there are none where it is missing."""
    path = folder / WIRING
    return dict(read_params(path).get("stages") or {}) if path.exists() else {}


def upstream(stage: str, stages: Mapping[str, Any]) -> list[str]:
    """List the stages whose outputs lead to `stage`, in the order of `dvc.yaml`.

    Their metrics files are up to date while it runs; those of later stages are not yet.
    """
    outs = {name: list(_outs(entry)) for name, entry in stages.items()}
    found: list[str] = []
    waiting = [stage]
    while waiting:
        deps = [_path(dep) for dep in stages.get(waiting.pop(), {}).get("deps", [])]
        for name, paths in outs.items():
            if name not in found and any(_leads(out, dep) for out in paths for dep in deps):
                found.append(name)
                waiting.append(name)
    return [name for name in stages if name in found and name != stage]


def is_last(stage: str, stages: Mapping[str, Any]) -> bool:
    """Tell whether no stage reads what this one makes."""
    outs = list(_outs(stages.get(stage, {})))
    deps = [_path(dep) for entry in stages.values() for dep in entry.get("deps", [])]
    return not any(_leads(out, dep) for out in outs for dep in deps)


def lock_digest(lock: bytes) -> str:
    """Give the MD5 of a `dvc.lock`, as `md5sum` and DVC write it."""
    return hashlib.md5(lock, usedforsecurity=False).hexdigest()


def output_tags(lock: bytes) -> dict[str, str]:
    """Give DVC's digest of each output that a `dvc.lock` knows, as `dvc.<path>`."""
    return {
        f"dvc.{out['path']}": str(out["md5"])
        for entry in _locked(lock).values()
        for out in entry.get("outs", [])
        if "md5" in out
    }


def agrees(lock: bytes, params: Mapping[str, Any]) -> bool:
    """Tell whether every stage of a `dvc.lock` was built with these parameters."""
    return all(
        _lookup(params, name) == value
        for entry in _locked(lock).values()
        for name, value in entry.get("params", {}).get(str(PARAMS_FILE), {}).items()
    )


def read_lock(folder: Path) -> bytes:
    """Read a folder's `dvc.lock`; nothing where it is missing."""
    try:
        return (folder / LOCK).read_bytes()
    except OSError:
        return b""


def _locked(lock: bytes) -> dict[str, Any]:
    loaded = YAML(typ="safe", pure=True).load(lock) if lock else None
    return dict((loaded or {}).get("stages") or {})


def _lookup(params: Any, name: str) -> Any:
    for key in name.split("."):
        params = params.get(key) if isinstance(params, Mapping) else None
    return params


def _outs(entry: Mapping[str, Any]) -> Iterator[Path]:
    for kind in OUTPUTS:
        yield from map(_path, entry.get(kind, []))


def _path(entry: object) -> Path:
    # An output may carry settings: `{path: {cache: false}}`.
    return Path(str(next(iter(entry)) if isinstance(entry, Mapping) else entry))


def _leads(out: Path, dep: Path) -> bool:
    return out == dep or out in dep.parents or dep in out.parents
