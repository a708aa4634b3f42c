from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu

from hanyi.errors import DataError, ParamsError
from hanyi.params import parse
from hanyi.scoring.metrics import METRICS, ScoreConfig, score_all

HYPOTHESES = [
    "I will go to Beijing tomorrow.",
    "He bought three books , for 20 yuan",
    "",
    "She doesn't like tea ; she prefers coffee .",
    "  The stock 00700 rose by 3.5%  ",
]
REFERENCES = [
    "I am going to Beijing tomorrow.",
    "He bought three books for 20 yuan.",
    "It is raining.",
    "She doesn't like tea; she prefers coffee.",
    "Shares of 00700 rose 3.5%.",
]
CHINESE = ["我明天去北京。", "他买了三本书"]
CHINESE_REFERENCES = ["我明天要去北京。", "他买了三本书。"]


def make(tokenize: str = "13a", order: int = 0) -> ScoreConfig:
    return ScoreConfig(tokenize=tokenize, chrf_word_order=order)


@pytest.mark.parametrize("tokenize", ["13a", "intl", "char", "none"])
def test_bleu_equals_sacrebleu(tokenize: str) -> None:
    metric = sacrebleu.BLEU(tokenize=tokenize)
    expected = metric.corpus_score(HYPOTHESES, [REFERENCES]).score
    found = METRICS["bleu"](HYPOTHESES, REFERENCES, make(tokenize))
    assert found == (expected, str(metric.get_signature()))
    assert 0 < found.score < 100
    assert f"tok:{tokenize}" in found.signature


def test_bleu_of_chinese_equals_sacrebleu() -> None:
    expected = sacrebleu.corpus_bleu(CHINESE, [CHINESE_REFERENCES], tokenize="zh").score
    assert METRICS["bleu"](CHINESE, CHINESE_REFERENCES, make("zh")).score == expected > 0


@pytest.mark.parametrize("order", [0, 2])
def test_chrf_equals_sacrebleu(order: int) -> None:
    metric = sacrebleu.CHRF(word_order=order)
    expected = metric.corpus_score(HYPOTHESES, [REFERENCES]).score
    found = METRICS["chrf"](HYPOTHESES, REFERENCES, make(order=order))
    assert found == (expected, str(metric.get_signature()))
    assert f"nw:{order}" in found.signature


def test_scores_equal_the_command_line(tmp_path: Path) -> None:
    lines = {"hyp": HYPOTHESES, "ref": REFERENCES}
    for name, texts in lines.items():
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8", newline="\n")
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        "ref",
        "-i",
        "hyp",
        "-m",
        "bleu",
        "chrf",
        "-w",
        "6",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, encoding="utf-8")
    found = score_all(HYPOTHESES, REFERENCES, make())
    assert {entry["name"]: entry["score"] for entry in json.loads(done.stdout)} == {
        "BLEU": round(found["bleu"].score, 6),
        "chrF2": round(found["chrf"].score, 6),
    }


def test_order_of_rows_does_not_matter_and_a_perfect_copy_scores_100() -> None:
    backwards = score_all(HYPOTHESES[::-1], REFERENCES[::-1], make())
    assert backwards == score_all(HYPOTHESES, REFERENCES, make())
    assert {
        round(score.score, 9) for score in score_all(REFERENCES, REFERENCES, make()).values()
    } == {100.0}


@pytest.mark.parametrize("name", list(METRICS))
def test_unequal_counts_and_no_sentences_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="4 for 5 references"):
        METRICS[name](HYPOTHESES[:4], REFERENCES, make())
    with pytest.raises(DataError, match="no sentences"):
        METRICS[name]([], [], make())


def test_an_unknown_tokenizer_is_refused_with_the_list() -> None:
    with pytest.raises(ParamsError, match=r"tokenize must be one of .*zh, 13a.*char.*, got 14a"):
        parse("score", ScoreConfig, {"tokenize": "14a", "chrf_word_order": 0})
    with pytest.raises(ParamsError, match="chrf_word_order must be 0 to 4, got -1"):
        parse("score", ScoreConfig, {"tokenize": "13a", "chrf_word_order": -1})


def test_a_tokenizer_that_is_not_installed_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "MeCab", None)
    with pytest.raises(
        DataError, match=r"score\.tokenize: .*expected a tokenizer that is installed"
    ):
        METRICS["bleu"](HYPOTHESES, REFERENCES, make("ja-mecab"))


def test_scoring_knows_nothing_of_torch(root: Path) -> None:
    code = "import sys, hanyi.scoring.metrics, hanyi.scoring.pairing; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        text=True,
    )
    assert done.stdout.strip() == "False"
