"""dvc.yaml and dvc.lock as plain values; what a stage's entry in the lock was run on and made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from hanyi.errors import ArtifactError
from hanyi.params import flatten

WIRING = Path("dvc.yaml")
LOCK = Path("dvc.lock")
RESTORE = "take it back from git (`git checkout HEAD -- dvc.lock`) and run `dvc repro`"
REMEDY = "take one side whole (`git checkout --theirs dvc.lock`) and run `dvc repro`"

_MARK = re.compile(r"^(<{7}|={7}|>{7}|\|{7})(\s|$)", re.MULTILINE)

Entry = Mapping[str, Any]


def read_lock() -> dict[str, Entry]:
    """Give the entry of each stage; raise `ArtifactError` for a lock that is missing or broken."""
    try:
        return parse_lock(LOCK.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(
            LOCK, "no such file", "what was run", "run `dvc repro` and commit it"
        ) from None
    except UnicodeDecodeError as error:
        raise ArtifactError(LOCK, str(error), "YAML in UTF-8", RESTORE) from None


def parse_lock(text: str) -> dict[str, Entry]:
    """Give the entry of each stage in the text of a lock."""
    if mark := _MARK.search(text):
        line = text.count("\n", 0, mark.start()) + 1
        raise ArtifactError(f"{LOCK}:{line}", "marks of a merge conflict", "none", REMEDY)
    try:
        stages = YAML(typ="safe").load(text)["stages"]
        return {str(name): dict(entry) for name, entry in stages.items()}
    except (YAMLError, TypeError, KeyError, AttributeError, ValueError) as error:
        found = f"not to be read ({type(error).__name__}: {error})"
        raise ArtifactError(LOCK, found, "the entries of stages", RESTORE) from None


def dependencies(entry: Entry) -> dict[str, str | None]:
    """Give the digest of each path that a stage was run on."""
    return _digests(entry, "deps")


def inputs(entry: Entry) -> dict[str, Any]:
    """Give all that a stage was run on: its command, paths and parameters by dotted name."""
    parameters: dict[str, Any] = {}
    for values in entry.get("params", {}).values():
        parameters |= flatten(values)
    return {"cmd": entry.get("cmd"), **dependencies(entry), **parameters}


def outputs(entry: Entry) -> dict[str, str | None]:
    """Give the digest of each path that a stage made."""
    return _digests(entry, "outs")


def metric_files() -> list[Path]:
    """Give the metrics files that dvc.yaml names; raise `ArtifactError` when it cannot be read."""
    try:
        wiring = YAML(typ="safe").load(WIRING.read_text(encoding="utf-8"))
        listed = [name for stage in wiring["stages"].values() for name in stage.get("metrics", ())]
    except (OSError, UnicodeDecodeError, YAMLError, TypeError, KeyError, AttributeError) as error:
        found = f"not to be read ({type(error).__name__}: {error})"
        raise ArtifactError(WIRING, found, "the stages", "restore it from git") from None
    return [Path(name if isinstance(name, str) else next(iter(name))) for name in listed]


def _digests(entry: Entry, key: str) -> dict[str, str | None]:
    return {str(item["path"]): item.get(item.get("hash", "md5")) for item in entry.get(key, ())}
