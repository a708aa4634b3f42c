"""A project of three stages in DVC and git, small enough that a gate's every case takes no time.

Its outputs are written here and committed with DVC as they lie, which gives the lock that a run of
the stages would give.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from dvc.repo import Repo

from hanyi.artifacts import DECODED as KIND
from hanyi.artifacts import canonical_json, digest_path, write_header
from hanyi.metrics.lexical import QUICK, measure

ROWS = 60
REFERENCES = [
    f"The {n} red houses stand by the old river, and {n + 3} people sing." for n in range(ROWS)
]
PREPARED, DECODED = Path("data/prepared/test.parquet"), Path("data/decoded/test.jsonl")
SCORES = Path("metrics/score.json")
PARAMS: dict[str, Any] = {
    "languages": {"src": "zh", "tgt": "en"},
    "fetch": {"inputs": "inputs"},
    "prepare": {"seed": 1},
    "decode": {"beam_size": 4, "method": "beam", "other": [1, 2], "patience": 2.0},
    "score": {"tokenize": "auto", "comet": None, "tokenized_references": False},
    "check": {
        "floors": {"bleu.score": 20.0},
        "baseline": None,
        "significance": 0.05,
        "max_drop": {"bleu.score": 1.0, "chrf.score": 1.0},
    },
}
WIRING = """\
stages:
  prepare:
    cmd: make prepare
    params: [prepare]
    deps:
      - code
      - ${fetch.inputs}
    outs:
      - data/prepared
  decode:
    cmd: make decode
    params: [decode]
    deps:
      - code
      - data/prepared
    outs:
      - data/decoded
    metrics:
      - metrics/decode.json:
          cache: false
  score:
    cmd: make score
    params: [score]
    deps:
      - data/prepared/test.parquet
      - data/decoded
    metrics:
      - metrics/score.json:
          cache: false
"""


def git(*arguments: str, expect: int | None = 0) -> str:
    """Run git as somebody who has a name."""
    names = {
        f"GIT_{who}_{what}": "a@b.c"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    ended = subprocess.run(
        ["git", *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **names},
    )
    assert expect is None or ended.returncode == expect, ended.stderr + ended.stdout
    return ended.stdout


def translations(wrong: Sequence[int]) -> list[str]:
    """Give translations, some rows of which are bad and the others nearly right."""
    return [
        "A cat sleeps here." if n in set(wrong) else text.replace("people", "persons")
        for n, text in enumerate(REFERENCES)
    ]


def make(folder: Path) -> None:
    """Make the project in the working directory, which is below the top of its repository."""
    git("init", "-q", "-b", "main", str(folder.parent))
    Repo.init(subdir=True).close()
    Path(".gitignore").write_text("/data/\n", encoding="utf-8")
    Path("dvc.yaml").write_text(WIRING, encoding="utf-8")
    Path("code").mkdir()
    Path("code/stage.py").write_text("print()\n", encoding="utf-8")
    Path("inputs").mkdir()
    Path("inputs/train.tsv").write_text("I\t我\n", encoding="utf-8")
    prepare(REFERENCES)
    set_params()


def set_params(section: str = "check", **values: Any) -> None:
    """Write params.yaml with other values in one section, one value a line."""
    params = {**PARAMS, section: {**PARAMS[section], **values}}
    text = json.dumps(params, indent=2, ensure_ascii=False)
    Path("params.yaml").write_text(text + "\n", encoding="utf-8")


def prepare(references: Sequence[str]) -> None:
    """Write the prepared test split."""
    columns: dict[str, list[Any]] = {
        "id": list(range(len(references))),
        "corpus": ["hsk" if n % 2 else "news" for n in range(len(references))],
        "src": ["源"] * len(references),
        "tgt": list(references),
    }
    PREPARED.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), PREPARED)


def decode(texts: Sequence[str]) -> None:
    """Write translations, and the scores that they have."""
    DECODED.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts)]
    DECODED.write_text("".join(lines), encoding="utf-8")
    write_header(DECODED.with_name("index.json"), *KIND, {"test": digest_path(PREPARED)})
    found = measure(texts, REFERENCES, "13a", QUICK)
    scores = {
        name: {"score": one.score(), "ci": 1.0, "signature": one.signature}
        for name, one in found.items()
    }
    write_scores({**scores, "rows": len(texts)})
    digest = sum(map(len, texts))
    Path("metrics/decode.json").write_text(canonical_json({"chars": digest}), encoding="utf-8")


def write_scores(scores: Mapping[str, Any]) -> None:
    """Write the metrics of the last stage; numbers that are not finite too."""
    SCORES.parent.mkdir(exist_ok=True)
    SCORES.write_text(json.dumps(scores, indent=2) + "\n", encoding="utf-8")


def edit_scores(name: str, value: Any) -> None:
    """Change one metric by hand; None takes it away."""
    scores = json.loads(SCORES.read_text(encoding="utf-8"))
    *sections, key = name.split(".")
    inner = scores
    for section in sections:
        inner = inner[section]
    inner[key] = value
    if value is None:
        del inner[key]
    write_scores(scores)


def run() -> None:
    """Make DVC take the outputs as they lie for those of a run."""
    with Repo() as repo:
        repo.commit(force=True)


def commit(tag: str) -> None:
    """Commit all that git does not ignore, and tag it."""
    git("add", "--all")
    git("commit", "-qm", tag)
    git("tag", tag)
