"""Which of DVC's experiments `hanyi publish` takes for built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hanyi.tracking import publish as publishing

LOCK = b"stages: {train: {params: {params.yaml: {model.heads: 4}}}}\n"


def record(name: str, state: str | None) -> dict[str, Any]:
    """Give an experiment as `dvc exp show --json` does; all show metrics, if only those before."""
    data = {
        "params": {"params.yaml": {"data": {"model": {"heads": 4}}}},
        "metrics": {"metrics/train.json": {"data": {"best": {"bleu": 1.0}}}},
    }
    executor = None if state is None else {"state": state, "local": {"pid": 1}}
    return {"name": name, "executor": executor, "revs": [{"rev": name, "data": data}]}


def test_what_has_not_ended_well_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = {
        "here": None,
        "done": "success",
        "waits": "queued",
        "runs": "running",
        "bad": "failed",
    }
    found = [record(name, state) for name, state in states.items()]
    shown = json.dumps([{"rev": "workspace"}, {"rev": "first", "experiments": found}])
    (tmp_path / ".dvc").mkdir()
    monkeypatch.setattr(publishing, "ask_dvc", lambda *_, **__: shown)
    monkeypatch.setattr(publishing, "file_at", lambda *_: LOCK)
    assert [known.name for known in publishing.built(tmp_path)] == ["here", "done"]
