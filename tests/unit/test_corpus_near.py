"""Near-duplicates of held-out sentences, and within a corpus: what is found, and how texts come."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from hanyi.corpus.keys import fold_column
from hanyi.corpus.near import NearIndex
from hanyi.corpus.near_duplicates import Texts, near_duplicates

HELD = [
    "This place has a mysterious atmosphere to it.",
    "我们正在寻找具有客服工作经验的人员。",
    "你好",
    "",
]


def folded(*texts: str) -> pa.StringArray:
    return fold_column(pa.array(texts, pa.string()))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("this place has a mysterious atmosphere", 0),
        ("This place has a mysterious atmosphere to it!!!", 0),
        ("That place has a mysterious smell to it.", -1),
        ("我们目前正在寻找具有客服工作经验的人员", -1),
        ("我们正在寻找具有客服工作经验的人员吗？", 1),
        ("你好。", 2),
        ("您好", -1),
        ("你", -1),
        ("", -1),
        ("…", -1),
    ],
)
def test_what_is_near(text: str, match: int) -> None:
    assert NearIndex(folded(*HELD), 0.8).matches(folded(text)).tolist() == [match]


def test_the_first_of_several_is_named() -> None:
    index = NearIndex(folded("哈哈哈", "哈哈哈哈", "呵呵"), 1.0)
    assert index.pairs(folded("呵呵！", "哈哈哈哈哈")).tolist() == [[0, 2], [1, 0], [1, 1]]
    assert index.matches(folded("呵呵！", "哈哈哈哈哈")).tolist() == [2, 0]


def test_no_sentences_at_all() -> None:
    assert NearIndex(folded(), 0.8).matches(folded("abcdefgh", "a")).tolist() == [-1, -1]
    assert NearIndex(folded(*HELD), 0.8).matches(folded()).tolist() == []


WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
HAN = "一二三四五六七八九十百千万上下左右东西南北春夏秋冬"


def corpus() -> list[tuple[str, str]]:
    """Make pairs of which every tenth is a little changed later on, on one side or both."""
    random = Random(1)
    pairs = [
        ("".join(random.choices(HAN, k=30)), " ".join(random.choices(WORDS, k=14)))
        for _ in range(400)
    ]
    for number, (src, tgt) in enumerate(pairs[:40]):
        both = number % 2 == 0
        pairs.append((f"{src}又" if both else src[::-1], f"{tgt} again"))
    return pairs


@pytest.mark.parametrize(("size", "workers"), [(1000, 1), (7, 2)])
def test_near_duplicates_of_a_corpus(tmp_path: Path, size: int, workers: int) -> None:
    pairs = corpus()
    numbers = 3 * np.arange(len(pairs)) + 5

    def blocks() -> Iterator[Texts]:
        for first in range(0, len(pairs), size):
            sides = zip(*pairs[first : first + size], strict=True)
            yield Texts(numbers[first : first + size], *map(pa.array, map(list, sides)))

    found = near_duplicates(blocks, 0.8, tmp_path, workers)
    assert found.tolist() == [[5 + 3 * (400 + row), 5 + 3 * row] for row in range(0, 40, 2)]


def test_a_row_near_only_to_one_that_goes_stays(tmp_path: Path) -> None:
    words = " ".join(WORDS)
    rows = [f"{words}", f"{words} and more", f"{words} and more and more of it", "", "", "x", "x"]
    column = fold_column(pa.array(rows))

    def blocks() -> Iterator[Texts]:
        yield Texts(np.arange(len(rows)), column, column)

    assert near_duplicates(blocks, 0.85, tmp_path, 1).tolist() == [[1, 0], [6, 5]]
    assert near_duplicates(lambda: iter(()), 0.85, tmp_path, 1).tolist() == []
