from __future__ import annotations

import pytest

from hanyi.analysis.copies import KINDS, Copied
from hanyi.scoring.pairing import Pair


def copied(kind: str, source: str, reference: str, hypothesis: str) -> Copied:
    return KINDS[kind](Pair(1, "c", source, reference, hypothesis))


@pytest.mark.parametrize(
    ("kind", "source", "reference", "hypothesis", "expected"),
    [
        ("numbers", "我35岁，住3楼", "I am 35, on floor 3", "I am 35", (2, 1)),
        ("numbers", "三十五岁", "35 years old", "is 35", (1, 1)),
        ("numbers", "三十五岁", "35 years old", "is 53", (1, 0)),
        ("numbers", "三十五岁", "thirty-five", "thirty-five", (0, 0)),
        ("numbers", "1,000 people", "有1000人", "有一千人", (1, 1)),
        ("shared_words", "我用Python写代码", "I write code in Python", "I use Python", (1, 1)),
        ("shared_words", "我用Python写代码", "I write code in Python", "I use python", (1, 0)),
        ("shared_words", "Tom 和 Tom", "Tom and Tom", "Tom", (2, 1)),
        ("shared_words", "日本", "日本", "", (0, 0)),
        ("shared_words", "A 12", "A 12", "", (0, 0)),
        ("names", "", "My friend Li Hua met Li.", "My friend Li is here", (3, 1)),
        ("names", "", "Tom left. Mary stayed: Why? “No”", "", (0, 0)),
        ("names", "", "Now I see Tom's house", "see Tom's", (1, 1)),
        ("names", "", "  - Berlin is in Germany", "", (1, 0)),
        ("names", "", "李华 met Tom", "Tom", (1, 1)),
        ("names", "", "", "", (0, 0)),
    ],
)
def test_what_is_expected_and_found(
    kind: str, source: str, reference: str, hypothesis: str, expected: tuple[int, int]
) -> None:
    assert copied(kind, source, reference, hypothesis) == expected


def test_the_reference_itself_copies_all() -> None:
    text = "In 2024 Li Hua of Beijing paid 1,500.50 for Python"
    for kind in KINDS:
        expected, found = copied(kind, text, text, text)
        assert expected == found > 0
