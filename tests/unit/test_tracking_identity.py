from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from hanyi.tracking.identity import params_digest, read_identity
from hanyi.tracking.mirror import numbers_and_texts
from hanyi.tracking.wiring import agrees, is_last, lock_digest, output_tags, read_wiring, upstream


def test_upstream_follows_the_wiring(root: Path) -> None:
    wiring = read_wiring(root)
    assert upstream("fetch", wiring) == []
    assert upstream("encode", wiring) == ["fetch", "prepare", "tokenizers"]
    before = ["fetch", "prepare", "tokenizers", "encode"]
    assert upstream("train", wiring) == before
    assert upstream("score", wiring) == [*before, "train", "decode"]
    assert upstream("unknown", wiring) == []


def test_upstream_understands_folders_and_settings() -> None:
    wiring: dict[str, Any] = {
        "late": {"deps": ["out/part"], "outs": ["late"]},
        "side": {"outs": ["side"]},
        "early": {"outs": [{"out": {"cache": False}}], "deps": ["metrics/first.json"]},
        "first": {"metrics": [{"metrics/first.json": {"cache": False}}]},
        "user": {"deps": ["late"]},
    }
    assert upstream("user", wiring) == ["late", "early", "first"]


def test_only_the_last_stage_is_last(root: Path) -> None:
    wiring = read_wiring(root)
    assert [name for name in wiring if is_last(name, wiring)] == ["score"]
    assert is_last("alone", {})


LOCK = b"""\
schema: '2.0'
stages:
  train:
    params:
      params.yaml:
        model: {heads: 4, dropout: 1e-05}
        score.tokenize: auto
    outs:
    - {path: models/transformer, hash: md5, md5: 12345678901234567890123456789012.dir}
    - {path: metrics/train.json, hash: md5, md5: ac7d07ccd0a1f4a5e78d327927a86dad}
"""


def test_the_lock_tells_digests_and_parameters() -> None:
    assert output_tags(LOCK) == {
        "dvc.models/transformer": "12345678901234567890123456789012.dir",
        "dvc.metrics/train.json": "ac7d07ccd0a1f4a5e78d327927a86dad",
    }
    assert output_tags(b"") == {}
    params = {"model": {"heads": 4, "dropout": 1e-05}, "score": {"tokenize": "auto"}, "check": {}}
    assert agrees(LOCK, params)
    assert not agrees(LOCK, {**params, "model": {"heads": 8, "dropout": 1e-05}})
    assert not agrees(LOCK, {**params, "score": {}})
    md5sum = subprocess.run(["md5sum"], input=LOCK, capture_output=True, check=True).stdout
    assert lock_digest(LOCK) == md5sum.split()[0].decode()


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
