from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sacrebleu

from hanyi.errors import ArtifactError, DataError, ParamsError
from hanyi.metrics.statistics import Statistics
from hanyi.scoring import evaluation
from hanyi.tracking import Tracker
from stages.score import main

REFERENCES = {
    1: ("hsk", "The weather is fine today."),
    2: ("everyday", "I bought two books, please."),
    3: ("hsk", "He has already left for Shanghai."),
    9: ("everyday", "How much is it?"),
}
HYPOTHESES = {
    9: "How much is that?",
    3: "He has left for Shanghai already.",
    1: "The weather is nice today.",
    2: "I bought two books, please.",
}


def write_params(folder: Path, target: str = "en", **score: object) -> None:
    values = {"tokenize": "auto", "comet": None, "tokenized_references": False, **score}
    params = {"languages": {"src": "fr", "tgt": target}, "score": values}
    (folder / "params.yaml").write_text(json.dumps(params), encoding="utf-8")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_params(tmp_path)
    (tmp_path / "data" / "prepared").mkdir(parents=True)
    (tmp_path / "data" / "decoded").mkdir()
    columns = {
        "id": list(REFERENCES),
        "corpus": [corpus for corpus, _ in REFERENCES.values()],
        "src": ["源"] * len(REFERENCES),
        "tgt": [text for _, text in REFERENCES.values()],
    }
    for split in ("test", "train"):
        pq.write_table(pa.table(columns), tmp_path / "data" / "prepared" / f"{split}.parquet")
    lines = [json.dumps({"id": key, "text": text}) for key, text in HYPOTHESES.items()]
    (tmp_path / "data" / "decoded" / "test.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_scores_equal_sacrebleu_for_all_and_for_each_corpus(workspace: Path) -> None:
    metrics = main(Tracker())
    for keys, found in [
        ([1, 2, 3, 9], metrics),
        ([1, 3], metrics["corpora"]["hsk"]),
        ([2, 9], metrics["corpora"]["everyday"]),
    ]:
        texts = [HYPOTHESES[key] for key in keys]
        references = [[REFERENCES[key][1] for key in keys]]
        assert found["rows"] == len(keys)
        for name, metric in {
            "bleu": sacrebleu.BLEU(),
            "chrf": sacrebleu.CHRF(),
            "chrf_pp": sacrebleu.CHRF(word_order=2),
            "ter": sacrebleu.TER(),
        }.items():
            assert found[name]["score"] == metric.corpus_score(texts, references).score
            assert found[name]["signature"] == str(metric.get_signature())
            resampled = metric.corpus_score(texts, references, n_bootstrap=1000)
            assert found[name]["ci"] == pytest.approx(resampled._ci, abs=1e-4)
            assert set(found[name]) == {"score", "ci", "signature"}
    assert set(metrics) == {"rows", "bleu", "chrf", "chrf_pp", "ter", "corpora", "health"}
    assert set(metrics["corpora"]) == {"everyday", "hsk"}


def test_a_lost_translation_is_one_line(workspace: Path) -> None:
    path = workspace / "data" / "decoded" / "test.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(ArtifactError, match="first missing id 2"):
        main(Tracker())


def test_an_unknown_tokenizer_is_one_line(workspace: Path) -> None:
    write_params(workspace, tokenize="14a")
    with pytest.raises(ParamsError, match=r"params\.yaml: score: tokenize must be one of"):
        main(Tracker())


def test_the_tokenizer_follows_the_language_and_a_mismatch_is_one_line(workspace: Path) -> None:
    write_params(workspace, target="zh")
    assert "tok:zh" in main(Tracker())["bleu"]["signature"]
    write_params(workspace, target="zh", tokenize="13a")
    with pytest.raises(ParamsError, match=r"score\.tokenize: 13a for zh"):
        main(Tracker())


def test_tokenized_references_are_refused_unless_wanted(workspace: Path) -> None:
    path = workspace / "data" / "prepared" / "test.parquet"
    table = pq.read_table(path)
    parted = [text.replace(".", " .").replace(",", " ,") for text in table["tgt"].to_pylist()]
    pq.write_table(table.set_column(3, "tgt", pa.array(parted)), path)
    with pytest.raises(DataError, match="look tokenized") as caught:
        main(Tracker())
    assert "2 of 2 references of hsk" in str(caught.value)
    write_params(workspace, tokenized_references=True)
    assert main(Tracker())["rows"] == 4


def test_comet_that_cannot_be_had_is_one_line_and_nothing_is_written(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)
    write_params(workspace, comet="Unbabel/wmt22-comet-da")
    with pytest.raises(DataError, match=r"score\.comet: the package unbabel-comet"):
        main(Tracker())
    assert not (workspace / "metrics").exists()


def test_comet_is_one_more_metric(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.array([[80.0, 1.0], [60.0, 1.0], [90.0, 1.0], [70.0, 1.0]])
    found = Statistics(counts, lambda sums: float(sums[0] / sums[1]), "model:fake")
    monkeypatch.setattr(evaluation, "measure_comet", lambda pairs, name: found)
    write_params(workspace, comet="fake")
    metrics = main(Tracker())
    assert metrics["comet"]["score"] == 75.0
    assert metrics["comet"]["signature"] == "model:fake"
    assert metrics["corpora"]["hsk"]["comet"]["score"] == 85.0  # rows 1 and 3
