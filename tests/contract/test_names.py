"""One word names a stage everywhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

# Modules of `stages` that are no DVC stage.
NOT_STAGES = {
    *("__init__", "harness", "launch", "paths", "tables"),  # what stages share
    *("check", "compare", "preset", "report", "summary"),
    *("sweep", "trials", "experiments"),
}


def table_stages(readme: Path) -> list[str]:
    """Give the first column of a README's stage table: rows that begin with | `name` |."""
    return re.findall(r"^\| `([a-z]+)` \|", readme.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_each_stage_runs_its_own_script(root: Path, wiring: dict[str, Any]) -> None:
    for stage, entry in wiring.items():
        assert entry["cmd"] == f"exec sh stages/run {stage}"
        assert entry["deps"][0] == f"stages/{stage}.py"
        assert (root / "stages" / f"{stage}.py").is_file()


def test_each_script_is_a_stage(root: Path, wiring: dict[str, Any]) -> None:
    scripts = {path.stem for path in (root / "stages").glob("*.py")}
    assert scripts - NOT_STAGES == set(wiring)


def test_each_script_runs_under_its_own_name(root: Path, wiring: dict[str, Any]) -> None:
    for stage in wiring:
        text = (root / "stages" / f"{stage}.py").read_text(encoding="utf-8")
        assert f'run("{stage}", main' in text


def test_each_stage_has_its_metrics_file(wiring: dict[str, Any]) -> None:
    for stage, entry in wiring.items():
        assert entry["metrics"] == [{f"metrics/{stage}.json": {"cache": False}}]


def test_each_stage_has_its_test(root: Path, wiring: dict[str, Any]) -> None:
    tests = {path.stem.removeprefix("test_") for path in (root / "tests/stages").glob("test_*.py")}
    assert set(wiring) <= tests, "write tests/stages/test_NAME.py"


@pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
def test_readme_lists_the_stages(root: Path, wiring: dict[str, Any], readme: str) -> None:
    assert table_stages(root / readme) == list(wiring)
