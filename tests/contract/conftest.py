"""Readings of the project's files that several contract tests share."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML


@pytest.fixture(scope="session")
def wiring(root: Path) -> dict[str, Any]:
    """Give the stages of dvc.yaml as plain values."""
    loaded = YAML(typ="safe", pure=True).load((root / "dvc.yaml").read_text(encoding="utf-8"))
    return dict(loaded["stages"])


@pytest.fixture(scope="session")
def params(root: Path) -> dict[str, Any]:
    """Give params.yaml as plain values."""
    loaded = YAML(typ="safe", pure=True).load((root / "params.yaml").read_text(encoding="utf-8"))
    return dict(loaded)


@pytest.fixture(scope="session")
def tracked(root: Path) -> list[Path]:
    """Give every file of the project that git knows, or would add, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
    ).stdout.decode("utf-8")
    names = sorted(set(listed.split("\0")) - {""})
    return [Path(name) for name in names if (root / name).is_file()]


@pytest.fixture(scope="session")
def loads(root: Path) -> dict[str, dict[str, str]]:
    """Give, for each stage script, the sections that it loads and the config class of each.

    A script that hides the name of a section in a variable cannot be checked, so it fails here.
    """
    found: dict[str, dict[str, str]] = {}
    for script in sorted((root / "stages").glob("*.py")):
        calls = [
            node
            for node in ast.walk(ast.parse(script.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "load_section"
        ]
        for call in calls:
            section, kind = call.args[:2]
            where = f"{script.name}:{call.lineno}"
            assert isinstance(section, ast.Constant), f"{where}: write out the section's name"
            assert isinstance(kind, ast.Name), f"{where}: write out the config class's name"
            found.setdefault(script.stem, {})[str(section.value)] = kind.id
    return found
