from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.cells import cell_len
from rich.console import Console

from hanyi.errors import ArtifactError
from hanyi.scoring.pairing import Pair
from stages.summary import choose, main

SOURCE = "我明天要坐高铁去上海看一个很久没有见面的老朋友，然后[bold]回北京{}。"
REFERENCE = (
    "Tomorrow I will take the train to Shanghai to see an old friend whom I have not met, {}."
)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for folder in ("metrics", "data/prepared", "data/decoded"):
        (tmp_path / folder).mkdir(parents=True)
    ids = list(range(40))
    columns = {
        "id": ids,
        "corpus": ["hsk" if key % 4 == 0 else "everyday" for key in ids],
        "src": [SOURCE.format(key) for key in ids],
        "tgt": [REFERENCE.format(key) for key in ids],
    }
    pq.write_table(pa.table(columns), tmp_path / "data/prepared/test.parquet")
    lines = [json.dumps({"id": key, "text": f"Translation {key}."}) + "\n" for key in ids]
    (tmp_path / "data/decoded/test.jsonl").write_text("".join(lines))
    part = {
        "rows": 30,
        "bleu": {"score": 61.234, "signature": "nrefs:1|tok:13a"},
        "chrf": {"score": 70.0, "signature": "nrefs:1|nc:6"},
    }
    files = {
        "prepare": {
            "rows": {"read": 51234, "kept": 50000, "rejected": 1234},
            "rejected": {
                "blank": 2,
                "empty": 8,
                "urls": 3,
                "chars": 4,
                "words": 5,
                "ratio": 12,
                "duplicate": 1200,
                "leak": 0,
            },
            "repaired": {"unicode": {"src": 1500, "tgt": 3}, "chars_2": {"src": 0, "tgt": 0}},
        },
        "train": {
            "parameters": 7654321,
            "steps": 2000,
            "best": {
                "step": 1800,
                "averaged": False,
                "loss": 1.5,
                "bleu": 60.0,
                "chrf": 75.5,
                "corpora": {"hsk": {"bleu": 9.0}},
            },
        },
        "score": {**part, "rows": 40, "corpora": {"everyday": part, "hsk": {**part, "rows": 10}}},
    }
    for name, values in files.items():
        (tmp_path / "metrics" / f"{name}.json").write_text(json.dumps(values))
    return tmp_path


def show(width: int, *, terminal: bool = False) -> str:
    out = io.StringIO()
    main(Console(file=out, width=width, force_terminal=terminal, highlight=False))
    return out.getvalue()


def test_it_tells_what_was_built(workspace: Path) -> None:
    text = show(120)
    for part in [
        "51,234",
        "50,000",
        "50,000 (97.6%)",
        "1,234 (duplicate 1,200, ratio 12, empty 8, words 5, chars 4, 2 more 5)",
        "texts repaired  unicode 1,503",
        "metrics/prepare/samples.md",
        "metrics/prepare/funnel.png",
        "7,654,321",
        "BLEU 60.00, chrF 75.50, loss 1.50 at update 1,800",
        "BLEU: nrefs:1|tok:13a",
        "make ui",
        "metrics/train/curve.png",
        '.venv/bin/hanyi translate "我爱00700"',
        SOURCE.format(0),  # brackets are text, no markup
        REFERENCE.format(0),
        "Translation 0.",
    ]:
        assert part in text
    assert text.count("reference ") == 8
    rows = [line.split() for line in text.splitlines()]
    assert ["all", "40", "61.23", "70.00"] in rows
    assert ["hsk", "10", "61.23", "70.00"] in rows


@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_and_is_plain_without_a_terminal(workspace: Path, width: int) -> None:
    text = show(width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text
    assert "\x1b[" in show(width, terminal=True)
    assert text == show(width)


def test_samples_come_from_every_corpus() -> None:
    def pairs(**sizes: int) -> list[Pair]:
        names = [name for name, size in sizes.items() for _ in range(size)]
        return [Pair(key, name, "", "", "") for key, name in enumerate(names)]

    def chosen(**sizes: int) -> list[int]:
        return [pair.id for pair in choose(pairs(**sizes), 8)]

    assert chosen(a=80) == [0, 10, 20, 30, 40, 50, 60, 70]
    assert chosen(a=4, b=40) == [0, 1, 2, 3, 4, 14, 24, 34]
    assert chosen(a=1, b=3) == [0, 1, 2, 3]
    assert len(chosen(**dict.fromkeys("abc", 5))) == 8
    assert len(chosen(**dict.fromkeys("abcdefghij", 5))) == 10


@pytest.mark.parametrize("name", ["prepare", "train", "score"])
def test_a_missing_or_broken_file_is_one_line(workspace: Path, name: str) -> None:
    path = workspace / "metrics" / f"{name}.json"
    for text in ("{", "{}", "[]"):
        path.write_text(text)
        with pytest.raises(ArtifactError, match=rf"metrics/{name}\.json"):
            show(80)
    path.unlink()
    with pytest.raises(ArtifactError, match=rf"metrics/{name}\.json: no such file.*dvc repro"):
        show(80)
