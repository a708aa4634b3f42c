"""One build with real dvc, made once, which the tests look at or copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.workspace import Done, Workspace


@dataclass(frozen=True)
class First:
    """The first build in a fresh clone: what dvc said, the workspace, a copy for others."""

    done: Done
    workspace: Workspace
    copy: Workspace


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> First:
    """Take the project as it is, run `dvc repro`, and commit."""
    home = tmp_path_factory.mktemp("first")
    workspace = Workspace.make(home / "work")
    # The last stage alone makes the row, which spares six waits; an experiment tracks each.
    early = workspace.dvc("repro", "decode")
    late = workspace.dvc("repro", HANYI_TRACKING=None)
    workspace.commit("Built")
    done = Done(late.code, early.out + late.out, early.err + late.err)
    return First(done, workspace, workspace.copy(home / "copy"))


@pytest.fixture
def built(first: First, tmp_path: Path) -> Workspace:
    """Give a copy of the built workspace that a test may spoil."""
    return first.copy.copy(tmp_path / "work")


@pytest.fixture(scope="session")
def clone(first: First, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Workspace]:
    """Give a maker of fresh clones, in which nothing is built."""
    return lambda: first.copy.clone(tmp_path_factory.mktemp("clone") / "work")
