"""A small project as a finished run leaves it: a tiny model, metrics, report, and their lock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import md5
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from hanyi.analysis.report import counts, write_report
from hanyi.analysis.sentences import describe
from hanyi.artifacts import DECODED, canonical_json, write_header
from hanyi.languages import Languages
from hanyi.metrics.lexical import measure
from hanyi.model.storage import read_description
from hanyi.params import read_params
from hanyi.plain_yaml import plain_yaml
from hanyi.scoring.pairing import Pair, places_by_corpus
from tests.analysis import PAIRS, write_train
from tests.models import save_tiny_model, tiny_tokenizers

ROOT = Path(__file__).resolve().parent.parent
READS = {
    "fetch": ["fetch", "languages"],
    "prepare": ["languages", "prepare"],
    "train": ["languages", "model", "score.tokenize", "train"],
    "decode": ["decode"],
    "score": ["languages", "score"],
}
"""What dvc.yaml lets each stage read of params.yaml."""


def make_project(
    root: Path, corpora: Sequence[Mapping[str, Any]] | None = None, pairs: Sequence[Pair] = PAIRS
) -> Path:
    """Build it below `root`; the parameters are the project's, with other corpora if given."""
    params = read_params(ROOT / "params.yaml")
    if corpora:
        params["fetch"]["corpora"] = [dict(entry) for entry in corpora]
    root.mkdir(parents=True, exist_ok=True)
    (root / "params.yaml").write_text(plain_yaml(params), encoding="utf-8")
    (root / "dvc.yaml").write_text("stages: {}\n", encoding="utf-8")
    (root / "requirements.lock").write_text("torch==2.13.0\nnumpy==2.4.6 ; python_version < '4'\n")
    save_tiny_model(root / "models/transformer", *tiny_tokenizers(root / "models/tokenizers"))
    _score(root, pairs)
    names = [str(entry["name"]) for entry in params["fetch"]["corpora"]]
    _metrics(root, "prepare", _prepared(names))
    _metrics(root, "fetch", {"rows": 100})
    _metrics(root, "encode", {"train": {"src_tokens": 900, "tgt_tokens": 1100}})
    best = {"bleu": 60.0, "chrf": 70.0, "loss": 2.0, "step": 8}
    _metrics(root, "train", {"steps": 16, "epochs": 2, "parameters": 12345, "best": best})
    write_lock(root)
    return root


def write_lock(root: Path) -> None:
    """Write dvc.lock for what is there."""
    params = read_params(root / "params.yaml")
    stages = {}
    for stage, names in READS.items():
        values = {name: _at(params, name) for name in names}
        outs = [_out(root, f"metrics/{stage}.json")]
        if stage == "train":
            outs.append({"path": "models/transformer", "md5": "0" * 32 + ".dir", "size": 7})
        deps = [{"path": "data/inputs", "md5": "1" * 32 + ".dir", "size": 9, "nfiles": 2}]
        stages[stage] = {"deps": deps, "params": {"params.yaml": values}, "outs": outs}
    yaml = YAML(typ="safe", pure=True)
    with (root / "dvc.lock").open("w", encoding="utf-8") as file:
        yaml.dump({"schema": "2.0", "stages": stages}, file)


def _out(root: Path, path: str) -> dict[str, Any]:
    data = (root / path).read_bytes() if (root / path).is_file() else b""
    return {"path": path, "md5": md5(data).hexdigest(), "size": len(data)}


def _at(values: Any, dotted: str) -> Any:
    for key in dotted.split("."):
        values = values[key]
    return values


def _score(root: Path, pairs: Sequence[Pair]) -> None:
    for folder in ("metrics/score", "data/prepared", "data/decoded"):
        (root / folder).mkdir(parents=True)
    texts = [pair.hypothesis for pair in pairs], [pair.reference for pair in pairs]
    found = measure(*texts, "13a")
    train = write_train(root / "data/prepared/train.parquet")
    languages = Languages(src="zh", tgt="en")
    sentences = describe(pairs, found, languages, train)
    write_report(root / "metrics/score", sentences)
    corpora = {
        name: _scores({metric: one.part(places) for metric, one in found.items()})
        for name, places in places_by_corpus(pairs).items()
    }
    _metrics(root, "score", {**_scores(found), "corpora": corpora, "health": counts(sentences)})
    _metrics(root, "decode", {"rows": len(pairs)})
    weights = read_description(root / "models/transformer").weights
    write_header(root / "data/decoded/index.json", *DECODED, {"models": [weights]})


def _scores(found: Mapping[str, Any]) -> dict[str, Any]:
    rows = {len(one.counts) for one in found.values()}
    values = {
        name: {"score": one.score(), "ci": 1.25, "signature": one.signature}
        for name, one in found.items()
    }
    return {"rows": rows.pop(), **values}


def _prepared(names: Sequence[str]) -> dict[str, Any]:
    split = {"train": 30, "valid": 2, "test": 3}
    total = {key: rows * len(set(names)) for key, rows in split.items()}
    return {
        "corpora": dict.fromkeys(sorted(set(names)), split),
        "rejected": {"url": 0, "duplicate": 4, "empty": 5},
        "rows": {"read": 100, "kept": 91, "rejected": 9},
        "splits": total,
    }


def _metrics(root: Path, stage: str, values: Mapping[str, Any]) -> None:
    path = root / "metrics" / f"{stage}.json"
    path.write_text(canonical_json(values), encoding="utf-8", newline="\n")


def rewrite(path: Path, **changes: Any) -> None:
    """Change top-level values of a JSON file."""
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**values, **changes}), encoding="utf-8")
