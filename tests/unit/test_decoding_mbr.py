"""The choice that the other translations agree with most, against sacrebleu and the definition."""

from __future__ import annotations

import random
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from hanyi.decoding.mbr import chrf_matrix, expected_utilities, rank

CHRF_SCORE = CHRF()
WORDS = ["the", "cat", "sat", "on", "a", "mat", "猫", "在", "e\u0301", "  ", "\u3000x", "😀", ""]

texts = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
    st.text(alphabet="ab \n\u00a0中", max_size=12),
)


def utility(text: str, reference: str) -> float:
    return float(CHRF_SCORE.sentence_score(text, [reference]).score)


def plain_utilities(row: list[str]) -> list[float]:
    return [
        mean(utility(text, other) for place, other in enumerate(row) if place != own)
        for own, text in enumerate(row)
    ]


@settings(max_examples=50)
@given(st.lists(texts, min_size=1, max_size=6))
def test_each_score_is_sacrebleus(row: list[str]) -> None:
    found = chrf_matrix(row)
    for one, text in enumerate(row):
        for other, reference in enumerate(row):
            assert found[one, other] == pytest.approx(utility(text, reference), abs=1e-9)


@settings(max_examples=50)
@given(st.lists(texts, min_size=2, max_size=8))
def test_utilities_are_the_mean_over_the_others(row: list[str]) -> None:
    doubled = [*row, row[0]]
    assert expected_utilities(doubled) == pytest.approx(plain_utilities(doubled), abs=1e-9)


def test_the_first_in_rank_has_the_highest_utility() -> None:
    draw = random.Random(0)
    for _ in range(50):
        row = [" ".join(draw.choices(WORDS[:8], k=draw.randrange(6))) for _ in range(7)]
        scores = [draw.uniform(-9, 0) for _ in row]
        utilities = plain_utilities(row)
        order = rank(row, scores)
        assert sorted(order) == list(range(7))
        best = max(utilities)
        winners = [place for place, value in enumerate(utilities) if value > best - 1e-7]
        assert order[0] == max(winners, key=lambda place: scores[place])
        ranked = [utilities[place] for place in order]
        assert ranked == sorted(ranked, key=lambda value: -round(value, 9))


def test_consensus_beats_the_likeliest() -> None:
    row = ["An odd one.", "the cat sat on the mat", "the cat sat on a mat", "a cat sat on the mat"]
    assert rank(row, [-1.0, -5.0, -6.0, -7.0])[0] == 1
    # Frequency is agreement.
    assert rank(["no", "yes", "yes", "no", "yes"], [0.0, -3.0, -2.0, 0.0, -4.0])[0] == 2


def test_ties_go_to_the_likelier_then_to_the_earlier() -> None:
    assert rank(["ab", "cd", "ef"], [-3.0, -1.0, -2.0]) == [1, 2, 0]
    assert rank(["ab", "cd"], [-1.0, -1.0]) == [0, 1]
    assert rank(["same", "same"], [-2.0, -1.0]) == [1, 0]


@pytest.mark.parametrize("row", [[], [""], ["", ""], ["", " ", "a"], ["one"]])
def test_few_or_empty_texts(row: list[str]) -> None:
    assert sorted(rank(row, [0.0] * len(row))) == list(range(len(row)))
    assert rank(["", "", "a b", "a c"], [0.0, 0.0, -9.0, -9.0])[0] == 2
