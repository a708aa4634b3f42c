"""Two clones give the same bytes, and a dead tracking server changes none of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.conftest import First
from tests.e2e.workspace import Done, Workspace, ran

pytestmark = pytest.mark.slow

DEAD = "http://127.0.0.1:9"  # the discard port, where nothing listens


@pytest.fixture(scope="module")
def second(clone: Callable[[], Workspace]) -> tuple[Workspace, Done]:
    """Build once more from scratch; while it trains, the tracking server is down."""
    workspace = clone()
    workspace.dvc("repro", "encode", PYTHONHASHSEED="7")
    done = workspace.dvc("repro", "train", HANYI_TRACKING=None, MLFLOW_TRACKING_URI=DEAD)
    workspace.dvc("repro")
    return workspace, done


def test_same_digests(first: First, second: tuple[Workspace, Done]) -> None:
    expected = first.copy.digests()
    assert len(expected) > 20
    assert second[0].digests() == expected


def test_dead_server_is_a_warning(second: tuple[Workspace, Done]) -> None:
    done = second[1]
    assert ran(done) == ["train"]
    assert DEAD in done.text
    assert "Traceback" not in done.text


def test_dead_server_leaves_no_local_store(second: tuple[Workspace, Done]) -> None:
    assert not (second[0].path / "mlflow.db").exists()
