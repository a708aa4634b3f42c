"""Where artifacts lie: stages/paths.py, dvc.yaml and the committed .gitignore files agree."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from stages import paths


def names_of(entries: list[Any]) -> dict[str, bool]:
    """Give the paths of a list of outs or metrics, and whether DVC caches each."""
    plain = [entry if isinstance(entry, dict) else {entry: {}} for entry in entries]
    return {path: options.get("cache", True) for entry in plain for path, options in entry.items()}


def outs(wiring: dict[str, Any]) -> dict[str, bool]:
    """Give every output of dvc.yaml, and whether DVC caches it."""
    found: dict[str, bool] = {}
    for entry in wiring.values():
        found |= names_of(entry.get("outs", [])) | names_of(entry["metrics"])
    return found


def constants() -> dict[str, str]:
    """Give the constants of stages/paths.py."""
    named = vars(paths).items()
    return {name: value.as_posix() for name, value in named if isinstance(value, Path)}


def test_paths_are_the_outs(wiring: dict[str, Any]) -> None:
    cached = {path for path, kept in outs(wiring).items() if kept}
    assert {path for name, path in constants().items() if name != "METRICS"} == cached
    assert constants()["METRICS"] == "metrics"


def test_each_stage_names_the_paths_of_its_wiring(root: Path, wiring: dict[str, Any]) -> None:
    known = constants()
    for stage, entry in wiring.items():
        data = [dep for dep in entry["deps"] if not dep.startswith(("stages/", "src/", "${"))]
        tree = ast.parse((root / "stages" / f"{stage}.py").read_text(encoding="utf-8"))
        words = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        used = {known[word] for word in words & set(known)}
        read = {folder_of(dep, known.values()) for dep in data}
        assert used - {"metrics"} == read | set(names_of(entry.get("outs", []))), stage


def folder_of(dep: str, outs: Iterable[str]) -> str:
    """Give the output that a dependency is, or lies in."""
    return next((out for out in outs if dep.startswith(f"{out}/")), dep)


def test_deps_are_made_by_earlier_stages(wiring: dict[str, Any]) -> None:
    made: set[str] = set()
    for stage, entry in wiring.items():
        for dep in entry["deps"]:
            if not dep.startswith(("stages/", "src/", "${")):
                folder = folder_of(dep, made)
                assert folder in made, f"{stage} reads {dep}, which no earlier stage makes"
        made |= set(names_of(entry.get("outs", [])))


def test_no_out_is_kept_over_runs(wiring: dict[str, Any]) -> None:
    for stage, entry in wiring.items():
        for out in [*entry.get("outs", []), *entry["metrics"]]:
            options = next(iter(out.values())) if isinstance(out, dict) else {}
            assert not options.get("persist"), f"{stage}: persist would resume another model"


def test_git_ignores_cached_outs_already(root: Path, wiring: dict[str, Any]) -> None:
    for out, cached in outs(wiring).items():
        assert ignored(root, out) == cached, (
            f"{out}: write /{Path(out).name} into {Path(out).parent}/.gitignore"
            if cached
            else f"{out} belongs in git"
        )


@pytest.mark.parametrize(
    "path", [".hanyi/train/state", "mlflow.db", "mlartifacts/x", "src/hanyi/__pycache__/a.pyc"]
)
def test_git_ignores_working_files(root: Path, path: str) -> None:
    assert ignored(root, path)


def ignored(root: Path, path: str) -> bool:
    """Ask git's committed rules, not the index, whether a path is ignored."""
    command = ["git", "check-ignore", "--quiet", "--no-index", path]
    return subprocess.run(command, cwd=root, check=False).returncode == 0
