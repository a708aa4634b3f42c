from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hanyi.params import read_params
from hanyi.tracking.identity import params_digest, read_identity, upstream
from hanyi.tracking.mirror import numbers_and_texts


def test_upstream_follows_the_wiring(root: Path) -> None:
    wiring = read_params(root / "dvc.yaml")
    assert upstream("fetch", wiring) == []
    assert upstream("encode", wiring) == ["fetch", "prepare", "tokenizers"]
    before = ["fetch", "prepare", "tokenizers", "encode"]
    assert upstream("train", wiring) == before
    assert upstream("score", wiring) == [*before, "train", "decode"]
    assert upstream("unknown", wiring) == []


def test_upstream_understands_folders_and_settings() -> None:
    wiring: dict[str, Any] = {
        "stages": {
            "late": {"deps": ["out/part"], "outs": ["late"]},
            "side": {"outs": ["side"]},
            "early": {"outs": [{"out": {"cache": False}}], "deps": ["metrics/first.json"]},
            "first": {"metrics": [{"metrics/first.json": {"cache": False}}]},
            "user": {"deps": ["late"]},
        }
    }
    assert upstream("user", wiring) == ["late", "early", "first"]


def test_identity_depends_on_values_not_on_layout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.delenv("DVC_EXP_BASELINE_REV", raising=False)
    monkeypatch.delenv("DVC_EXP_NAME", raising=False)
    keys = []
    for text in (
        "b: 1e-05\na: {x: 1}\n",
        "a:\n  x: 1  # why\nb: 0.00001\n",
        "a: {x: 2}\nb: 1e-05\n",
    ):
        Path("params.yaml").write_text(text)
        identity, params = read_identity()
        assert set(params) == {"a.x", "b"}
        assert identity.baseline == "none"  # no git here, which is no fault
        keys.append(identity.key)
    assert keys[0] == keys[1] != keys[2]


def test_identity_sees_the_smallest_difference() -> None:
    assert params_digest({"a": 1e-7}) != params_digest({"a": 2e-7})
    assert params_digest({"a": 1, "b": float("inf")}) == params_digest({"b": float("inf"), "a": 1})


def test_numbers_and_texts_are_told_apart() -> None:
    values = {"a": {"n": 1, "f": 0.5, "t": "x", "b": True, "none": None}, "l": [1]}
    numbers, texts = numbers_and_texts(values)
    assert numbers == {"a.n": 1.0, "a.f": 0.5}
    assert texts == {"a.t": "x", "a.b": "True", "l": "[1]"}
