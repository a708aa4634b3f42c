"""What a user can get wrong ends in one line, with exit code 2 and nothing half-written."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import First
from tests.e2e.workspace import WEIGHTS, Done, Workspace, corpus, write_table

pytestmark = pytest.mark.slow

SABOTEUR = Path(__file__).with_name("saboteur.py")

# What is set in params.yaml, the stage that must refuse it, and the words that it must say.
PARAMETERS: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "misspelt": ({"fetch.corpsu": "files"}, "fetch", ["fetch.corpsu"]),
    "wrong type": ({"prepare.max_chars": "many"}, "prepare", ["prepare.max_chars", "many"]),
    "unknown choice": ({"fetch.corpus": "moon"}, "fetch", ["fetch", "moon", "starter", "files"]),
    "heads": ({"model.heads": 3}, "train", ["heads", "3", "32"]),
    "unknown activation": ({"model.activation": "tanhh"}, "train", ["tanhh", "relu"]),
    "vocabulary too large": (
        {"tokenizers.src_vocab": 30_000},
        "tokenizers",
        ["src_vocab", "30000"],
    ),
    "vocabulary too small": ({"tokenizers.tgt_vocab": 20}, "tokenizers", ["tgt_vocab", "20"]),
    "no such file": ({"fetch.files.train": "gone.tsv"}, "fetch", ["gone.tsv"]),
    "no such column": ({"fetch.files.src_column": 7}, "fetch", ["train.tsv", "7"]),
    "wrong delimiter": ({"fetch.files.delimiter": ";"}, "fetch", ["train.tsv", "delimiter"]),
    "beams": ({"decode.beam_size": 0}, "decode", ["beam_size", "0"]),
    "tokenizer of BLEU": ({"score.tokenize": "klingon"}, "score", ["klingon", "13a"]),
}


def refused(done: Done, *words: str) -> None:
    """Check that a stage has stopped with one line that holds these words."""
    assert done.code == 2, done.text
    assert "Traceback" not in done.text
    assert len(done.faults) == 1, done.text
    for word in words:
        assert word in done.faults[0]


@pytest.mark.parametrize("case", PARAMETERS)
def test_parameters(built: Workspace, case: str) -> None:
    changes, stage, words = PARAMETERS[case]
    built.edit(**changes)
    before = built.digests()
    refused(built.stage(stage, expect=None), *words)
    assert built.digests() == before
    assert built.leftovers() == []


FILES: dict[str, tuple[bytes, list[str]]] = {
    "empty": (b"", ["train.tsv", "empty"]),
    "not UTF-8": ("I see.\t我看见。\n".encode("gbk") * 9, ["train.tsv:1", "utf-8"]),
    "one column": (b"only one\n" * 9, ["train.tsv:1", "column"]),
    "broken gzip": (b"\x1f\x8b\x08 no gzip at all", ["train.tsv.gz"]),
}


@pytest.mark.parametrize("case", FILES)
def test_files(built: Workspace, case: str) -> None:
    content, words = FILES[case]
    name = "train.tsv.gz" if "gz" in words[0] else "train.tsv"
    (built.path / "data/inputs" / name).write_bytes(content)
    built.edit(**{"fetch.files.train": name})
    done = built.stage("fetch", expect=None)
    if done.code == 0:
        done = built.stage("prepare", expect=None)
    refused(done, *words)
    assert built.leftovers() == []


def test_unknown_parameter_of_an_experiment(built: Workspace) -> None:
    done = built.dvc("exp", "run", "-S", "+train.typo=1", expect=None)
    assert done.code != 0
    assert len(done.faults) == 1, done.text
    assert "train.typo" in done.faults[0]
    assert "Traceback" not in done.text


def test_tokenizer_of_another_run(built: Workspace) -> None:
    """The shards were made with other tokenizers: decode must not give nonsense."""
    write_table(built.path / "data/inputs/train.tsv", corpus()[:60])
    for stage in ("fetch", "prepare"):
        built.stage(stage)
    built.edit(**{"tokenizers.src_vocab": 280, "tokenizers.tgt_vocab": 280})
    built.stage("tokenizers")
    before = built.digests("data/decoded", "models/transformer")
    for stage in ("train", "decode"):
        refused(built.stage(stage, expect=None), "tokenizer")
    assert built.digests("data/decoded", "models/transformer") == before


def test_model_of_another_run(built: Workspace) -> None:
    """Everything before the model was made anew, the model was not."""
    built.edit(**{"tokenizers.src_vocab": 280, "tokenizers.tgt_vocab": 280})
    built.stage("tokenizers")
    built.stage("encode")
    refused(built.stage("decode", expect=None), "models/transformer")


def flip(path: Path, offset: int) -> None:
    """Change one byte."""
    data = bytearray(path.read_bytes())
    data[offset] ^= 0xFF
    path.chmod(0o644)
    path.write_bytes(data)


@pytest.mark.parametrize("offset", [0, 12, -1], ids=["length", "header", "weights"])
def test_broken_checkpoint(built: Workspace, offset: int) -> None:
    flip(built.path / WEIGHTS, offset)
    refused(built.stage("decode", expect=None), "models/transformer")


def test_broken_shard(built: Workspace) -> None:
    shard = next((built.path / "data/encoded/test").glob("*.arrow"))
    flip(shard, shard.stat().st_size // 2)
    refused(built.stage("decode", expect=None), "data/encoded/test")


def test_missing_stage_output(built: Workspace) -> None:
    (built.path / "data/encoded/train/index.json").unlink()
    refused(built.stage("train", expect=None), "data/encoded/train", "dvc repro")


@pytest.mark.parametrize(
    ("stage", "output"),
    [("prepare", "data/prepared"), ("encode", "data/encoded"), ("decode", "data/decoded")],
)
def test_full_disk(first: First, built: Workspace, stage: str, output: str) -> None:
    done = built.run(sys.executable, SABOTEUR, stage, "os.fsync", "1", "disk-full", expect=None)
    refused(done, "space")
    assert built.leftovers() == []
    assert built.digests(output) == first.copy.digests(output)


@pytest.mark.parametrize("stage", ["encode", "decode"])
def test_killed_stage_leaves_the_old_output(first: First, built: Workspace, stage: str) -> None:
    done = built.run(
        sys.executable, SABOTEUR, stage, "os.replace", "1", "kill-before", expect=-signal.SIGKILL
    )
    assert "Traceback" not in done.text
    built.stage(stage)
    assert built.digests() == first.copy.digests()
