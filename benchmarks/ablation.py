"""What each switch of model and training is worth: `.venv/bin/python -m benchmarks.ablation`.

Run it in a project whose `encode` stage is built. Every variant is the project's own params.yaml
with a few values changed; it is trained for the same number of updates, decoded and scored by the
stages themselves in a folder of its own, several at a time with one thread each. Prints a Markdown
table as results come: BLEU and chrF on test, the p-value of a paired bootstrap against the first
row, size and time. Equal inputs give equal scores; only the times vary. With `--folder` what was
done stays, and a run that was stopped goes on: what is scored is read, trainings go on from their
saved states.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from ruamel.yaml import YAML

from hanyi.metrics.lexical import measure
from hanyi.metrics.tokenizers import bleu_tokenizer
from hanyi.params import read_params
from hanyi.scoring.significance import bootstrap

PROJECT = Path(__file__).parents[1]

VARIANTS: dict[str, dict[str, Any]] = {
    "as in params.yaml": {},
    "no label smoothing (Szegedy et al. 2016)": {"train.label_smoothing": 0.0},
    "BPE-dropout 0.1 (Provilkov et al. 2020)": {"train.bpe_dropout": 0.1},
    "R-Drop 5 (Liang et al. 2021)": {"train.r_drop": 5.0},
    "mean of the last 5, 100 updates apart (Junczys-Dowmunt et al. 2016)": {
        "train.average": 5,
        "train.validate_every": 100,
    },
    "EMA 0.999 (Polyak and Juditsky 1992)": {"train.ema": 0.999},
    "output not tied (Press and Wolf 2017)": {"model.tie": "none"},
    "6 encoder, 1 decoder layers (Kasai et al. 2021)": {
        "model.layers": 6,
        "model.decoder_layers": 1,
    },
    "post-norm (Vaswani et al. 2017)": {"model.norm": "post"},
    "post-norm, learning rate 0.0007 (Xiong et al. 2020)": {
        "model.norm": "post",
        "train.learning_rate": 0.0007,
    },
    "RMSNorm (Zhang and Sennrich 2019)": {"model.norm_type": "rms_norm"},
    "rotary positions (Su et al. 2021)": {"model.positions": "rotary"},
    "SwiGLU (Shazeer 2020)": {"model.activation": "swiglu"},
    "2 key-value heads (Ainslie et al. 2023)": {"model.key_value_heads": 2},
}


@dataclass(frozen=True)
class Result:
    """What a variant gave."""

    score: Mapping[str, Any]
    train: Mapping[str, Any]
    minutes: float
    hypotheses: list[str]


def main() -> None:
    """Run the variants and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, required=True, help="of each variant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="variants at a time")
    parser.add_argument("--only", nargs="*", help="words of the names of the variants to run")
    parser.add_argument(
        "--set", nargs="*", default=[], help="NAME=VALUE for all, e.g. model.d_model=128"
    )
    parser.add_argument("--folder", type=Path, help="where variants stay; else they are removed")
    chosen = parser.parse_args()
    common: dict[str, Any] = {"train.max_steps": chosen.updates, "train.max_epochs": None}
    for setting in chosen.set:
        name, _, value = setting.partition("=")
        common[name] = YAML(typ="safe").load(value)
    names = [
        name
        for number, name in enumerate(VARIANTS)
        if not chosen.only or not number or any(word in name for word in chosen.only)
    ]
    references = pd.read_parquet("data/prepared/test.parquet").sort_values("id")["tgt"].tolist()
    print(
        "| variant | BLEU | chrF | p | parameters, million | minutes |\n|---|---|---|---|---|---|"
    )
    base: Result | None = None
    with TemporaryDirectory() as passing, ThreadPoolExecutor(chosen.jobs) as pool:
        folder = (chosen.folder or Path(passing)).absolute()
        results = pool.map(
            lambda name: run(folder / folder_name(name), {**common, **VARIANTS[name]}), names
        )
        for name, result in zip(names, results, strict=True):
            print(row(name, result, base, references), flush=True)
            base = base or result


def folder_name(variant: str) -> str:
    """Give the name of a variant's folder: its words without the paper."""
    return re.sub(r"\W+", "-", variant.partition(" (")[0]).strip("-")


def run(root: Path, changes: Mapping[str, Any]) -> Result:
    """Train, decode and score the project with some parameters changed, unless that is done."""
    time_file = root / "minutes.json"
    for name in ("data/prepared", "data/encoded", "models/tokenizers"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if not (root / name).is_symlink():
            (root / name).symlink_to(Path(name).absolute())
    if not changed(root / "params.yaml", changes) and time_file.exists():
        minutes = float(json.loads(time_file.read_text(encoding="utf-8")))
    else:
        write_params(root / "params.yaml", changes)
        begun = time.monotonic()
        stage(root, "train")
        minutes = (time.monotonic() - begun) / 60
        stage(root, "decode")
        stage(root, "score")
        time_file.write_text(json.dumps(minutes), encoding="utf-8")
    read = {
        name: json.loads((root / f"metrics/{name}.json").read_text(encoding="utf-8"))
        for name in ("score", "train")
    }
    return Result(read["score"], read["train"], minutes, list(hypotheses(root)))


def changed(path: Path, changes: Mapping[str, Any]) -> bool:
    """Tell whether a variant's parameters are no longer those that it was run with."""
    yaml = YAML(typ="safe")
    known = yaml.load(path.read_text(encoding="utf-8")) if path.exists() else None
    return bool(known != params_with(changes))


def params_with(changes: Mapping[str, Any]) -> Any:
    """Give the project's parameters with some of them changed."""
    params = YAML(typ="safe").load(Path("params.yaml").read_text(encoding="utf-8"))
    for name, value in changes.items():
        *sections, key = name.split(".")
        section = params
        for part in sections:
            section = section[part]
        if key not in section:
            raise SystemExit(f"{name}: no such parameter in params.yaml")
        section[key] = value
    return params


def write_params(path: Path, changes: Mapping[str, Any]) -> None:
    """Write the project's parameters with some of them changed."""
    with path.open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(params_with(changes), file)


def stage(root: Path, name: str) -> None:
    """Run one stage in a folder, with one thread and without a mirror."""
    environment = {
        **{key: value for key, value in os.environ.items() if key != "DVC_ROOT"},
        "PYTHONPATH": str(PROJECT),
        "OMP_NUM_THREADS": "1",
        "HANYI_TRACKING": "off",
        "HANYI_TORCHRUN": "",
    }
    done = subprocess.run(
        [sys.executable, "-m", f"stages.{name}"],
        cwd=root,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stderr)
        raise SystemExit(f"{name} ended with {done.returncode}")


def hypotheses(root: Path) -> Iterator[str]:
    """Give the translations in order of id."""
    for line in (root / "data/decoded/test.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)["text"]


def row(name: str, result: Result, base: Result | None, references: list[str]) -> str:
    """Give a row of the table."""
    p = "" if base is None else f"{p_value(base.hypotheses, result.hypotheses, references):.3f}"
    bleu, chrf = (result.score[metric]["score"] for metric in ("bleu", "chrf"))
    size = result.train["parameters"] / 1e6
    return f"| {name} | {bleu:.1f} | {chrf:.1f} | {p} | {size:.1f} | {result.minutes:.1f} |"


def p_value(base: list[str], other: list[str], references: list[str]) -> float:
    """Give the chance of such a difference in BLEU if both systems were equally good."""
    params = read_params(Path("params.yaml"))
    tokenize = bleu_tokenizer(params["score"]["tokenize"], params["languages"]["tgt"])
    measured = (measure(texts, references, tokenize, ["bleu"])["bleu"] for texts in (base, other))
    return bootstrap(*measured).p_value


if __name__ == "__main__":
    if not Path("data/encoded").exists():
        raise SystemExit("data/encoded: not there; run `dvc repro encode` first")
    main()
