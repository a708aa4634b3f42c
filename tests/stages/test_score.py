from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sacrebleu

from hanyi.errors import ArtifactError, ParamsError
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


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    params = "score:\n  tokenize: 13a\n  chrf_word_order: 2\n"
    (tmp_path / "params.yaml").write_text(params)
    (tmp_path / "data" / "prepared").mkdir(parents=True)
    (tmp_path / "data" / "decoded").mkdir()
    columns = {
        "id": list(REFERENCES),
        "corpus": [corpus for corpus, _ in REFERENCES.values()],
        "src": ["源"] * len(REFERENCES),
        "tgt": [text for _, text in REFERENCES.values()],
    }
    pq.write_table(pa.table(columns), tmp_path / "data" / "prepared" / "test.parquet")
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
            "chrf": sacrebleu.CHRF(word_order=2),
        }.items():
            assert found[name]["score"] == metric.corpus_score(texts, references).score
            assert found[name]["signature"] == str(metric.get_signature())
    assert set(metrics) == {"rows", "bleu", "chrf", "corpora"}


def test_a_lost_translation_is_one_line(workspace: Path) -> None:
    path = workspace / "data" / "decoded" / "test.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(ArtifactError, match="first missing id 2"):
        main(Tracker())


def test_an_unknown_tokenizer_is_one_line(workspace: Path) -> None:
    (workspace / "params.yaml").write_text("score: {tokenize: 14a, chrf_word_order: 0}\n")
    with pytest.raises(ParamsError, match=r"params\.yaml: score: tokenize must be one of"):
        main(Tracker())
