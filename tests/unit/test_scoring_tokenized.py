from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from hanyi.errors import DataError
from hanyi.scoring.pairing import Pair
from hanyi.scoring.tokenized import require_plain

WHERE = Path("test.parquet")
ENGLISH = [
    "He went home, and I didn't.",
    "Is it 3.5%, or ... more?",
    "She wrote .NET and C# code.",
    "Hello",
    "Mr. Smith's well-known book cost 1,000 yuan.",
    "Why?",
]
CHINESE = ["我明天去北京。", "他买了三本书，很贵。", "iPhone 15 发布了", "好", "中国 北京"]
FRENCH = ["Tu viens ?", "Pourquoi ?", "Non, merci."]


def check(texts: Sequence[str], target: str = "en", corpus: str = "hsk") -> None:
    pairs = [Pair(7 + row, corpus, "", text, "") for row, text in enumerate(texts)]
    require_plain(pairs, target, WHERE)


@pytest.mark.parametrize(
    ("texts", "target"),
    [(ENGLISH, "en"), (CHINESE, "zh"), (FRENCH, "fr"), ([""], "en"), ([], "en")],
)
def test_what_people_write_passes(texts: list[str], target: str) -> None:
    check(texts, target)


@pytest.mark.parametrize(
    ("texts", "target", "sign"),
    [
        ([Tokenizer13a()(text) for text in ENGLISH], "en", "a space before , or ."),
        (["Is it ?", "Why ?"], "en", "a space before ?"),
        ([TokenizerZh()(text) for text in CHINESE], "zh", "spaces between characters"),
        (["我 明天 去 北京 。", "他 买 了 三本 书"], "zh", "spaces between characters"),
        (["un@@ believ@@ able", "so it is", "a walk@@ ed"], "en", "pieces of words"),
        (["▁He ▁went", "▁So"], "en", "pieces of words"),
        (["He walk ##ed", "play ##ing"], "en", "pieces of words"),
        (["It &apos;s", "well @-@ known"], "en", "escapes"),
    ],
)
def test_tokenized_references_are_one_line(texts: list[str], target: str, sign: str) -> None:
    with pytest.raises(DataError, match=r"test\.parquet: \d of \d references of hsk") as caught:
        check(texts, target)
    line = str(caught.value)
    assert sign in line
    assert "(id 7: " in line or "(id 8: " in line
    assert "score.tokenized_references" in line
    assert "\n" not in line


def test_a_few_careless_spaces_are_no_tokenizer() -> None:
    check([*ENGLISH * 10, *["So it is ."] * 5])


def test_each_corpus_is_looked_at_alone() -> None:
    plain = [Pair(row, "big", "", "It is so.", "") for row in range(100)]
    parted = [Pair(200 + row, "small", "", "It is so .", "") for row in range(4)]
    with pytest.raises(DataError, match=r"4 of 4 references of small .*id 200"):
        require_plain([*plain, *parted], "en", WHERE)


def test_a_long_example_is_shortened() -> None:
    with pytest.raises(DataError) as caught:
        check(["word " * 50 + ".", "so ."])
    assert len(str(caught.value)) < 350
