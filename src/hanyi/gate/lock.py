"""The lock is up to date when what it says was run is what stands here, cache or none.

`dvc repro --dry --allow-missing` cannot tell: with data it ends with 0 although a stage would run,
without data every fault ends as a missing file, and what a merge put together may pass. So each
stage's entry is held against dvc.yaml, params.yaml, the files that git has and the entries
of the stages before it; data that is not here counts as what the lock says it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hanyi.errors import HanyiError
from hanyi.gate.finding import Finding, failed, passed
from hanyi.gate.lockfile import LOCK, WIRING, Entry, dependencies, outputs, read_lock
from hanyi.params import flatten

CHECK = "lock"
RUN = "run `dvc repro`"
SHOWN = 4  # parameters that are named one by one
NONE = object()  # stands for a parameter that is not there; null is a value


def check_lock() -> list[Finding]:
    """Hold dvc.lock against dvc.yaml, params.yaml and the files that are here."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        locked = read_lock()
    except HanyiError as error:
        return [failed(CHECK, LOCK, str(error).removeprefix(f"{LOCK}: "))]
    try:
        with Repo() as repo:
            stages = list(repo.index.stages)
            faults = [fault for stage in stages for fault in _faults(stage, locked, stages)]
    except DvcException as error:
        return [failed(CHECK, WIRING, f"DVC cannot read the project: {error}")]
    names = {stage.name for stage in stages if not stage.is_data_source}
    faults += [
        failed(CHECK, name, "in dvc.lock, but no stage of dvc.yaml: take the entry out")
        for name in locked
        if name not in names
    ]
    return faults or [passed(CHECK, LOCK, f"ok, {len(names)} stages")]


def _faults(stage: Any, locked: Mapping[str, Entry], stages: Sequence[Any]) -> Iterator[Finding]:
    if stage.is_data_source:  # a .dvc file
        return
    entry = locked.get(stage.name)
    if entry is None:
        yield failed(CHECK, stage.name, f"never run: dvc.lock has no entry; {RUN}")
        return
    files = [dep for dep in stage.deps if not _is_parameters(dep)]
    told = [
        *(["it was run by another command"] if stage.cmd != entry.get("cmd") else ()),
        *_other_paths("dependency", files, dependencies(entry)),
        *_other_paths("output", stage.outs, outputs(entry)),
        *filter(None, map(_parameters, filter(_is_parameters, stage.deps))),
        *_dependencies([dep for dep in files if dep.hash_info], stages),
    ]
    if told:
        yield failed(CHECK, stage.name, f"{'; '.join(told)}; {RUN}")
    yield from _outputs(stage)


def _is_parameters(dep: Any) -> bool:
    return hasattr(dep, "params")


def _other_paths(kind: str, wired: Sequence[Any], entry: Mapping[str, Any]) -> Iterator[str]:
    paths = [one.def_path for one in wired]
    for path in paths:
        if path not in entry:
            yield f"{kind} {path} is new in dvc.yaml"
    for path in sorted(set(entry) - set(paths)):
        yield f"{kind} {path} is no longer in dvc.yaml"


def _parameters(dep: Any) -> str | None:
    run = flatten(dep.hash_info.value or {})
    now = flatten(dep.read_params())
    other = [name for name in {**run, **now} if run.get(name, NONE) != now.get(name, NONE)]
    if not other:
        return None
    told = [f"{name} {_shown(run, name)} → {_shown(now, name)}" for name in other[:SHOWN]]
    more = f" and {len(other) - SHOWN} more" if len(other) > SHOWN else ""
    return f"parameters changed since it was run: {', '.join(told)}{more}"


def _shown(values: Mapping[str, Any], name: str) -> str:
    return json.dumps(values[name], ensure_ascii=False) if name in values else "none"


def _dependencies(files: Sequence[Any], stages: Sequence[Any]) -> Iterator[str]:
    outs = [out for stage in stages for out in stage.outs]
    changed = []
    for dep in files:
        maker = next((out for out in outs if _holds(out, dep)), None)
        if maker is None:
            if not dep.exists:
                yield f"{dep.def_path} is missing"
            elif dep.get_hash() != dep.hash_info:
                changed.append(dep.def_path)
        elif _made(maker, dep) not in {None, dep.hash_info.value}:
            yield (
                f"it was run on another {dep.def_path} than {maker.stage.addressing} made: "
                "the lock is a mixture, as a merge leaves it"
            )
    if changed:
        yield (
            f"changed since it was run, or holding files that git does not know: "
            f"{', '.join(changed)}"
        )


def _holds(out: Any, dep: Any) -> bool:
    path, folder = Path(dep.fs_path), Path(out.fs_path)
    return path == folder or folder in path.parents


def _made(out: Any, dep: Any) -> str | None:
    """Give the digest that a stage's output has at the path of a dependency; None: not known."""
    if out.fs_path == dep.fs_path:
        return str(out.hash_info.value)
    # A file within: the list of the folder's files lies in the cache, if there is one.
    inside = Path(dep.fs_path).relative_to(out.fs_path).as_posix()
    try:
        listed = json.loads(Path(out.cache.oid_to_path(out.hash_info.value)).read_bytes())
    except (OSError, ValueError):
        return None
    return next((item["md5"] for item in listed if item["relpath"] == inside), "none")


def _outputs(stage: Any) -> Iterator[Finding]:
    for out in stage.outs:
        if not out.hash_info:
            continue  # told as a new path
        if not out.exists:
            if not out.use_cache:  # git holds it, so a clone has it
                yield failed(CHECK, out.def_path, f"missing; {RUN} and commit it")
        elif out.get_hash() != out.hash_info:
            remedy = "`dvc checkout` brings them back" if out.use_cache else RUN
            yield failed(
                CHECK,
                out.def_path,
                f"edited: other bytes than {stage.name} made by dvc.lock; {remedy}",
            )
