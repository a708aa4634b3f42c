from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu

from hanyi.errors import DataError
from hanyi.metrics.lexical import LABELS, METRICS, QUICK, measure, require_tokenizer, score_all

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
CHINESE = ["我明天去北京。", "他买了三本书", "00700 升了3.5%。"]
CHINESE_REFERENCES = ["我明天要去北京。", "他买了三本书。", "00700股价升3.5%。"]
TEXTS = {"en": (HYPOTHESES, REFERENCES), "zh": (CHINESE, CHINESE_REFERENCES)}
SACREBLEU: dict[str, Any] = {
    "chrf": sacrebleu.CHRF(),
    "chrf_pp": sacrebleu.CHRF(word_order=2),
    "ter": sacrebleu.TER(),
}


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("tokenize", ["13a", "intl", "zh", "char", "none"])
def test_scores_and_signatures_are_those_of_sacrebleu(language: str, tokenize: str) -> None:
    hypotheses, references = TEXTS[language]
    found = score_all(hypotheses, references, tokenize)
    for name, metric in {"bleu": sacrebleu.BLEU(tokenize=tokenize), **SACREBLEU}.items():
        expected = metric.corpus_score(hypotheses, [references]).score
        assert found[name] == (expected, str(metric.get_signature()))
        assert found[name].score > 0 or tokenize == "none"
    assert f"tok:{tokenize}" in found["bleu"].signature
    assert list(found) == list(METRICS) == list(LABELS)[:4] == ["bleu", "chrf", "chrf_pp", "ter"]


def command_line(folder: Path, hypotheses: Sequence[str], *flags: str) -> dict[str, float]:
    (folder / "hyp").write_text("\n".join(hypotheses) + "\n", encoding="utf-8", newline="\n")
    command = [sys.executable, "-m", "sacrebleu", "ref", "-i", "hyp", "-w", "9", *flags]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True, encoding="utf-8")
    found = json.loads(done.stdout)
    return {one["name"]: one["score"] for one in (found if isinstance(found, list) else [found])}


@pytest.mark.parametrize(
    ("language", "tokenize"), [("en", "13a"), ("zh", "zh"), ("en", "intl"), ("zh", "char")]
)
def test_scores_equal_the_command_line_to_the_digit(
    tmp_path: Path, language: str, tokenize: str
) -> None:
    hypotheses, references = TEXTS[language]
    (tmp_path / "ref").write_text("\n".join(references) + "\n", encoding="utf-8", newline="\n")
    found = {
        name: round(one.score, 9)
        for name, one in score_all(hypotheses, references, tokenize).items()
    }
    metrics = ("-m", "bleu", "chrf", "ter", "-tok", tokenize)
    plus = command_line(tmp_path, hypotheses, *metrics, "--chrf-word-order", "2")
    assert plus == {"BLEU": found["bleu"], "chrF2++": found["chrf_pp"], "TER": found["ter"]}
    if language == "zh":
        assert command_line(tmp_path, hypotheses, "-m", "chrf") == {"chrF2": found["chrf"]}


def test_a_part_scores_as_its_rows_alone() -> None:
    rows = np.array([0, 3, 4])
    whole = measure(HYPOTHESES, REFERENCES, "13a")
    alone = score_all([HYPOTHESES[i] for i in rows], [REFERENCES[i] for i in rows], "13a")
    assert {name: one.part(rows).score() for name, one in whole.items()} == {
        name: one.score for name, one in alone.items()
    }


def test_a_perfect_copy_has_the_best_score_and_emptiness_a_bad_one() -> None:
    for name, one in score_all(REFERENCES, REFERENCES, "13a").items():
        assert one.score == pytest.approx(100 if METRICS[name].higher_is_better else 0)
    for name, one in score_all([""] * 5, REFERENCES, "13a").items():
        assert one.score == pytest.approx(0 if METRICS[name].higher_is_better else 100, abs=1e-9)
    score_all(["", "a"], ["", ""], "13a")  # divides by nothing


def test_only_the_wanted_metrics_are_measured() -> None:
    assert tuple(measure(HYPOTHESES, REFERENCES, "13a", QUICK)) == QUICK


def test_unequal_counts_and_no_sentences_are_refused() -> None:
    with pytest.raises(DataError, match="4 for 5 references"):
        measure(HYPOTHESES[:4], REFERENCES, "13a")
    with pytest.raises(DataError, match="no sentences"):
        measure([], [], "13a")


@pytest.mark.parametrize(
    ("tokenize", "module"),
    [("ja-mecab", "MeCab"), ("ko-mecab", "mecab_ko"), ("flores200", "sentencepiece")],
)
def test_a_tokenizer_that_cannot_be_had_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tokenize: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        DataError, match=r"score\.tokenize: .* cannot be had: .*expected a tokenizer .*installed"
    ) as caught:
        require_tokenizer(tokenize)
    assert "\n" not in str(caught.value)


def test_metrics_know_nothing_of_torch(root: Path) -> None:
    code = "import sys, hanyi.metrics.lexical, hanyi.scoring.pairing; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        text=True,
    )
    assert done.stdout.strip() == "False"
