"""Several test sets in one run, one of them by sacrebleu's name: each is scored as if alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from hanyi.tracking import Tracker
from stages import fetch, prepare, score
from stages.paths import DECODED, PREPARED

FIELDS = ("src", "ref", "docid", "genre", "origlang")  # of wmt17 in sacrebleu's cache
# Twice the same sentence, odd spaces and an unfinished one: what a clean-up would be tempted by.
WMT = [
    ("他昨天 去了上海。", "He went to Shanghai  yesterday."),
    ("天气很好。", "The weather is very nice today, isn't it?"),
    ("天气很好。", "The weather is very nice today, isn't it?"),
    ("价格上涨了3.5%", " Prices rose by 3.5 %"),
    ("谢谢", "Thanks"),
]


@pytest.fixture
def project(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a project with two test sets, of which one lies in sacrebleu's cache."""
    from sacrebleu.dataset import DATASETS

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    cache = tmp_path / "sacrebleu"
    monkeypatch.setenv("SACREBLEU", str(cache))
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(cache))
    monkeypatch.setattr(DATASETS["wmt17"], "_outdir", str(cache / "wmt17"))
    monkeypatch.setattr(DATASETS["wmt17"], "_rawdir", str(cache / "wmt17" / "raw"))
    texts = {"src": [src for src, _ in WMT], "ref": [ref for _, ref in WMT]}
    for field in FIELDS:
        path = cache / "wmt17" / f"wmt17.zh-en.{field}"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = texts.get(field, [field] * len(WMT))
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    for name, rows in (("train", 60), ("valid", 10), ("test", 10)):
        path = tmp_path / "data" / "inputs" / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"This is {name} sentence {n}.\t这是{name}第{n}句。\n" for n in range(rows)]
        path.write_text("".join(lines), encoding="utf-8")
    yaml = YAML()
    params = yaml.load((root / "params.yaml").read_text(encoding="utf-8"))
    params["fetch"]["corpora"] = [
        *({"name": "mine", "source": f"{role}.tsv", "role": role} for role in ("train", "valid")),
        {"name": "own", "source": "test.tsv", "role": "test"},
        {"name": "wmt17", "source": "sacrebleu:wmt17"},
    ]
    with Path("params.yaml").open("w", encoding="utf-8") as file:
        yaml.dump(params, file)
    return tmp_path


def test_each_test_set_is_scored_as_sacrebleu_does(project: Path) -> None:
    fetch.main(Tracker())
    prepare.main(Tracker())
    rows = pq.read_table(PREPARED / "test.parquet").to_pylist()
    assert [row["tgt"] for row in rows if row["corpus"] == "wmt17"] == [ref for _, ref in WMT]
    DECODED.mkdir()
    outputs = {row["id"]: row["tgt"].lower().replace("is", "was") for row in rows}
    lines = [json.dumps({"id": key, "text": text}) + "\n" for key, text in outputs.items()]
    (DECODED / "test.jsonl").write_text("".join(lines), encoding="utf-8")

    found = score.main(Tracker())
    assert found["rows"] == 15
    assert {name: part["rows"] for name, part in found["corpora"].items()} == {
        "own": 10,
        "wmt17": 5,
    }
    hypotheses = [outputs[row["id"]] for row in rows if row["corpus"] == "wmt17"]
    Path("hyp").write_text("".join(text + "\n" for text in hypotheses), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "-t", "wmt17", "-l", "zh-en", "-i", "hyp"]
    done = subprocess.run(
        [*command, "-m", "bleu", "chrf", "ter", "-w", "9"],
        capture_output=True,
        check=True,
        encoding="utf-8",
        env=dict(os.environ),
    )
    wmt = found["corpora"]["wmt17"]
    assert {one["name"]: one["score"] for one in json.loads(done.stdout)} == {
        "BLEU": round(wmt["bleu"]["score"], 9),
        "chrF2": round(wmt["chrf"]["score"], 9),
        "TER": round(wmt["ter"]["score"], 9),
    }
    assert found["bleu"]["score"] not in {
        part["bleu"]["score"] for part in found["corpora"].values()
    }
