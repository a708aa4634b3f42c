"""What a user can get wrong ends in one line, with exit code 2 and nothing half-written."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import First
from tests.e2e.workspace import WEIGHTS, Done, Workspace

pytestmark = pytest.mark.slow

SABOTEUR = Path(__file__).with_name("saboteur.py")

# What is set in params.yaml, the stage that must refuse it, and the words that it must say.
PARAMETERS: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "misspelt": ({"fetch.corpsu": "files"}, "fetch", ["fetch.corpsu"]),
    "wrong type": ({"prepare.split.test": "many"}, "prepare", ["prepare.split.test", "many"]),
    "unknown choice": (
        {"prepare.rules": [{"rule": "moon"}]},
        "prepare",
        ["prepare.rules", "moon", "identical"],
    ),
    "unknown part of the starter": (
        {"fetch.corpora": [{"name": "a", "source": "starter:moon"}]},
        "fetch",
        ["moon", "everyday"],
    ),
    "heads": ({"model.heads": 3}, "train", ["heads", "3", "32"]),
    "vocabulary too large": (
        {"tokenizers.src_vocab": 30_000},
        "tokenizers",
        ["src_vocab", "30000"],
    ),
    "vocabulary too small": ({"tokenizers.tgt_vocab": 20}, "tokenizers", ["tgt_vocab", "20"]),
    "no such file": (
        {"fetch.corpora": [{"name": "a", "source": "gone.tsv"}]},
        "fetch",
        ["gone.tsv"],
    ),
    "no such column": ({"fetch.reading.src_column": 7}, "fetch", ["train.tsv", "7"]),
    "wrong delimiter": ({"fetch.reading.delimiter": ";"}, "fetch", ["train.tsv", "delimiter"]),
    "tokenizer of BLEU": ({"score.tokenize": "klingon"}, "score", ["klingon", "13a"]),
    "tokenizer of another language": ({"score.tokenize": "zh"}, "train", ["zh for en", "13a"]),
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
    "nothing that can be read": (bytes(range(128, 250)) * 9, ["train.tsv:1", "encoding"]),
    "one column": (b"only one\n" * 9, ["train.tsv:1", "column"]),
    "broken gzip": (b"\x1f\x8b\x08 no gzip at all", ["train.tsv.gz"]),
}


@pytest.mark.parametrize("case", FILES)
def test_files(built: Workspace, case: str) -> None:
    content, words = FILES[case]
    name = "train.tsv.gz" if "gz" in words[0] else "train.tsv"
    (built.path / "data/inputs" / name).write_bytes(content)
    built.edit(**{"fetch.corpora": [{"name": "mine", "source": name}]})
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


def test_parts_of_another_run(built: Workspace) -> None:
    """New tokenizers beside old shards, then new shards beside the old model: no nonsense."""
    built.edit(**{"tokenizers.src_vocab": 280, "tokenizers.tgt_vocab": 280})
    built.stage("tokenizers")
    before = built.digests("data/decoded", "models/transformer")
    for stage in ("train", "decode"):
        refused(built.stage(stage, expect=None), "tokenizer")
    built.stage("encode")
    refused(built.stage("decode", expect=None), "models/transformer")
    assert built.digests("data/decoded", "models/transformer") == before


def flip(path: Path, offset: int) -> None:
    """Change one byte."""
    data = bytearray(path.read_bytes())
    data[offset] ^= 0xFF
    path.chmod(0o644)
    path.write_bytes(data)


def test_broken_checkpoint(built: Workspace) -> None:
    flip(built.path / WEIGHTS, -1)
    refused(built.stage("decode", expect=None), "models/transformer")


def test_broken_shard(built: Workspace) -> None:
    shard = next((built.path / "data/encoded/train").glob("*.arrow"))
    flip(shard, shard.stat().st_size // 2)
    refused(built.stage("train", expect=None), "data/encoded/train")


def test_missing_output_of_an_earlier_stage(built: Workspace) -> None:
    (built.path / "models/tokenizers/src.json").unlink()
    refused(built.stage("encode", expect=None), "models/tokenizers/src.json", "dvc repro")


@pytest.mark.parametrize(
    ("stage", "output"), [("prepare", "data/prepared"), ("encode", "data/encoded")]
)
def test_full_disk(first: First, built: Workspace, stage: str, output: str) -> None:
    done = built.run(sys.executable, SABOTEUR, stage, "os.fsync", "1", "disk-full", expect=None)
    refused(done, "space")
    assert built.leftovers() == []
    assert built.digests(output) == first.copy.digests(output)


def test_killed_stage_leaves_the_old_output(first: First, built: Workspace) -> None:
    built.run(
        sys.executable, SABOTEUR, "encode", "os.replace", "1", "kill-before", expect=-signal.SIGKILL
    )
    built.stage("encode")
    assert built.leftovers() == []
    assert built.digests() == first.copy.digests()
