from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import sacrebleu

from hanyi.analysis.sentences import write_sentences
from tests.analysis import PAIRS, described


def test_sentence_scores_are_sacrebleus(tmp_path: Path) -> None:
    scores = described(tmp_path).scores
    for name, metric in {
        "bleu": sacrebleu.BLEU(effective_order=True),
        "chrf": sacrebleu.CHRF(),
        "chrf_pp": sacrebleu.CHRF(word_order=2),
        "ter": sacrebleu.TER(),
    }.items():
        expected = [metric.sentence_score(pair.hypothesis, [pair.reference]) for pair in PAIRS]
        assert scores[name].tolist() == [one.score for one in expected]


def test_the_table_has_a_row_for_each_sentence(tmp_path: Path) -> None:
    sentences = described(tmp_path)
    write_sentences(tmp_path / "sentences.parquet", sentences)
    rows = pq.read_table(tmp_path / "sentences.parquet").to_pylist()
    assert [row["id"] for row in rows] == [pair.id for pair in PAIRS]
    first, second, *_, last = rows
    assert first["hypothesis"] == "He left."
    assert first["log_prob"] == -2.5
    assert (first["src_words"], first["reference_words"], first["hypothesis_words"]) == (7, 6, 2)
    assert (first["rarest_word"], second["rarest_word"]) == (0, 0)
    assert (second["numbers_expected"], second["numbers_found"], second["numbers"]) == (1, 0, True)
    assert (first["names_expected"], first["names_found"]) == (1, 0)
    assert last["empty"]
    assert not last["cut"]
    assert rows[4]["cut"]


def test_a_row_without_words_has_no_rarest_one_and_log_prob_may_be_unknown(tmp_path: Path) -> None:
    pairs = [PAIRS[0]._replace(reference="...", log_prob=None)]
    write_sentences(tmp_path / "sentences.parquet", described(tmp_path, pairs))
    row = pq.read_table(tmp_path / "sentences.parquet").to_pylist()[0]
    assert row["rarest_word"] is None
    assert row["log_prob"] is None


@pytest.mark.parametrize("text", [" ", "\t\n", "\u3000"])
def test_rows_of_white_space(tmp_path: Path, text: str) -> None:
    pairs = [PAIRS[0]._replace(source=text, reference=text, hypothesis=text)]
    sentences = described(tmp_path, pairs)
    assert not sentences.sick.any()
    assert sentences.src_words.tolist() == [0]
