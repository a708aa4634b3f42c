"""The pipeline's own stages in a folder of their own, for as many minutes as are left."""

from __future__ import annotations

import importlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from ruamel.yaml import YAML

from benchmarks.gpu_checks import ROOT
from hanyi.artifacts import canonical_json, write_text
from hanyi.model.devices import DEVICE_VARIABLE
from hanyi.params import flatten, read_params
from hanyi.tracking import Tracker
from stages.preset import merge

BEFORE = ("fetch", "prepare", "tokenizers", "encode")
AFTER = ("decode", "score")
BATCH_TOKENS = 25_000  # padded tokens of a side in an update
PADDING = 0.1
SHARE_OF_SPEED = 0.75  # what validation, saving and the first steps leave of the measured speed
SECONDS_AFTER = 40.0  # for decoding and scoring

# Pairs for the rehearsal: words whose translation is one to one.
WORDS = {"猫": "cat", "狗": "dog", "鱼": "fish", "鸟": "bird", "水": "water", "山": "hill"}
TINY: dict[str, Any] = {
    "prepare": {"split": {"valid": 20, "test": 20}},
    "tokenizers": {"src_vocab": 280, "tgt_vocab": 280},
    "model": {"d_model": 16, "heads": 2, "d_ff": 32, "layers": 1},
    "train": {"batch_tokens": 400, "validate_rows": 10},
    "decode": {"beam_size": 2},
}


class Plan(NamedTuple):
    """What to train on, and how fast it will be."""

    corpus: Path | None  # None in the rehearsal
    columns: tuple[int, int]  # of source and target
    device: torch.device
    speed: float  # target tokens a second
    tiny: bool


class Result(NamedTuple):
    """What came of it."""

    metrics: dict[str, Any]  # by dotted name
    seconds: dict[str, float]  # by stage


def train(folder: Path, plan: Plan, left: Callable[[], float]) -> Result:
    """Run all stages in an empty folder; `left` tells the seconds that remain."""
    params = _params(folder, plan)
    seconds: dict[str, float] = {}
    metrics: dict[str, Any] = {}
    with _inside(folder, plan.device):
        _write(params)
        for stage in BEFORE:
            _run(stage, metrics, seconds)
        _schedule(params["train"], plan, left() - SECONDS_AFTER)
        _write(params)
        for stage in ("train", *AFTER):
            _run(stage, metrics, seconds)
    names = (
        "score.bleu.score",
        "score.chrf.score",
        "train.steps",
        "train.epochs",
        "train.parameters",
    )
    return Result({name: metrics[name] for name in names}, seconds)


def _params(folder: Path, plan: Plan) -> dict[str, Any]:
    """Give the base preset's parameters for the corpus, which is copied into the folder."""
    params = read_params(ROOT / "params.yaml")
    merge(params, read_params(ROOT / "presets" / "base.yaml"))
    inputs = folder / "data" / "inputs"
    inputs.mkdir(parents=True)
    if plan.corpus is None:
        _invent(inputs / "invented.tsv")
        merge(params, TINY)
    elif plan.corpus.is_dir():
        shutil.copytree(plan.corpus, inputs, dirs_exist_ok=True)
    else:
        shutil.copy(plan.corpus, inputs)
    files = sorted(path.name for path in inputs.iterdir() if ".tsv" in path.suffixes)
    params["fetch"]["corpora"] = [{"name": "mine", "source": name} for name in files]
    reading = params["fetch"]["reading"]
    reading["src_column"], reading["tgt_column"] = plan.columns
    return params


def _schedule(section: dict[str, Any], plan: Plan, seconds: float) -> None:
    """Set as many updates as the time allows; the learning rate falls to 0 with the last."""
    if plan.tiny:
        steps = 12
    else:
        section["batch_tokens"] = BATCH_TOKENS
        tokens = BATCH_TOKENS * (1 - PADDING)
        steps = max(100, int(seconds * SHARE_OF_SPEED * plan.speed / tokens))
    section |= {
        "accumulate": 1,
        "max_steps": steps,
        "max_epochs": None,
        "schedule": "linear",
        "learning_rate": 0.001,
        "warmup": max(1, steps // 10),
        "validate_every": max(1, steps // 3),
        "save_every": steps,
        "average": 1,
    }


def _run(stage: str, metrics: dict[str, Any], seconds: dict[str, float]) -> None:
    """Run a stage in this process: starting one for each would cost half a minute."""
    begun = time.monotonic()
    found = importlib.import_module(f"stages.{stage}").main(Tracker())
    write_text(Path("metrics", f"{stage}.json"), canonical_json(found))
    metrics |= flatten(found, f"{stage}.")
    seconds[stage] = time.monotonic() - begun


def _write(params: dict[str, Any]) -> None:
    with Path("params.yaml").open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(params, file)


def _invent(path: Path) -> None:
    names = list(WORDS)
    rows = []
    for number in range(len(names) ** 4):
        words = [names[number // len(names) ** place % len(names)] for place in range(4)]
        rows.append(" ".join(WORDS[word] for word in words) + "\t" + "".join(words))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


@contextmanager
def _inside(folder: Path, device: torch.device) -> Iterator[None]:
    """Work in a folder, on a device; all is as before afterwards."""
    before, asked = Path.cwd(), os.environ.get(DEVICE_VARIABLE)
    os.chdir(folder)
    os.environ[DEVICE_VARIABLE] = str(device)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.pop(DEVICE_VARIABLE)
        if asked is not None:
            os.environ[DEVICE_VARIABLE] = asked
