from __future__ import annotations

import random

import pytest

from hanyi.analysis.health import FLAGS, MEANINGS, Rows, check, most_in_a_row
from hanyi.languages import Languages
from hanyi.scoring.pairing import Pair

ZH_EN = Languages(src="zh", tgt="en")
EN_ZH = Languages(src="en", tgt="zh")
EN_DE = Languages(src="en", tgt="de")


def flags(
    source: str,
    reference: str,
    hypothesis: str,
    languages: Languages = ZH_EN,
    *,
    finished: bool = True,
) -> set[str]:
    """Check one row among others that say how long translations are."""
    good = [Pair(key, "c", "今天天气很好", "The weather is fine.", "Good.") for key in range(4)]
    if languages is EN_ZH:
        good = [Pair(key, "c", "The weather is fine.", "今天天气很好", "") for key in range(4)]
    if languages is EN_DE:
        good = [Pair(key, "c", "The weather is fine.", "Es ist schön heute.", "") for key in "1234"]
    pair = Pair(9, "c", source, reference, hypothesis, -1.0, finished)
    found = check(Rows([*good, pair], languages))
    return {name for name, mask in found.items() if mask[-1]}


def test_every_flag_is_explained() -> None:
    assert list(FLAGS) == list(MEANINGS)


@pytest.mark.parametrize(
    ("flag", "source", "reference", "hypothesis", "languages"),
    [
        ("empty", "你好", "Hello", "  ", ZH_EN),
        ("repetition", "我看书", "I read a book", "I read read read a book", ZH_EN),
        ("repetition", "我看书", "I read", "I like it and I like it and I like it and", ZH_EN),
        ("repetition", "小王", "Xiao Wang is here", "Xiaoxiaoxiaoxiaoxiao is", ZH_EN),
        ("repetition", "I read a book", "我看一本书", "我看书看书看书", EN_ZH),
        ("copied", "Hello, my friend!", "你好，我的朋友！", "hello my friend", EN_ZH),
        ("copied", "See you in Berlin", "Bis bald in Berlin", "See you in Berlin.", EN_DE),
        ("untranslated", "我爱北京", "I love Beijing", "I love 北京", ZH_EN),
        ("untranslated", "I love Beijing", "我爱北京", "我 love 北京", EN_ZH),
        ("short", "今天的天气真的非常好", "The weather is really very fine today", "It.", ZH_EN),
        ("long", "你好", "Hello", "Hello to you and to all of your many friends", ZH_EN),
        ("numbers", "我35岁", "I am 35", "I am 53", ZH_EN),
        ("numbers", "我35岁", "I am 35", "I am old", ZH_EN),
        ("numbers", "我很老", "I am old", "I am 85", ZH_EN),
        ("tokenized", "你好，朋友", "Hello, friend.", "Hello , friend .", ZH_EN),
        ("tokenized", "我不去", "I don't go.", "I do n't go.", ZH_EN),
        ("tokenized", "我不去", "I don't go.", "I will not g@@ o.", ZH_EN),
        ("tokenized", "我不去", "I don't go.", "▁I ▁will not go.", ZH_EN),
        ("tokenized", "I don't go.", "我不去", "我 不 去", EN_ZH),
    ],
)
def test_signs_of_trouble_are_seen(
    flag: str, source: str, reference: str, hypothesis: str, languages: Languages
) -> None:
    assert flag in flags(source, reference, hypothesis, languages)


@pytest.mark.parametrize(
    ("source", "reference", "hypothesis", "languages"),
    [
        ("今天天气很好", "The weather is fine today.", "It is fine weather today.", ZH_EN),
        ("不不不，很远", "No, no, no, it is far.", "No, no, no, it is far.", ZH_EN),
        ("哈哈哈哈哈哈", "Hahahahahaha", "Hahahahahaha", ZH_EN),
        ("……好吧", "Well... all right", "...... all right", ZH_EN),
        ("一百万元", "1,000,000 yuan", "1000000 yuan", ZH_EN),
        ("三十五岁", "thirty-five years old", "35 years old", ZH_EN),
        ("我三十五岁了", "I am 35 now.", "I am 35 now.", ZH_EN),
        ("“福”是好字", "福 is a good sign", "福 is a good one", ZH_EN),
        ("I love Beijing", "我爱Beijing", "我爱Beijing", EN_ZH),
        ("00700", "00700", "00700", EN_ZH),
        ("OK", "OK", "OK", EN_DE),
        ("", "", "", ZH_EN),
        ("你好", "", "Hello", ZH_EN),
    ],
)
def test_good_translations_are_left_alone(
    source: str, reference: str, hypothesis: str, languages: Languages
) -> None:
    assert flags(source, reference, hypothesis, languages) == set()


def test_a_cut_translation_says_so_itself() -> None:
    assert flags("你好", "Hello", "Hello", finished=False) == {"cut"}


def naive(units: list[str], least: int, longest: int) -> int:
    most = 1
    for begin in range(len(units)):
        for size in range(1, longest + 1):
            unit = units[begin : begin + size]
            if not any(char.isalpha() for part in unit for char in part):
                continue
            times = 1
            while units[begin + times * size : begin + (times + 1) * size] == unit:
                times += 1
            if times >= least:
                most = max(most, times)
    return most


def test_loops_are_those_of_the_plain_definition() -> None:
    draw = random.Random(1)
    for _ in range(800):
        letters = draw.choice(["ab", "abc", "a1.", "1."])
        units = [draw.choice(letters) for _ in range(draw.randint(0, 16))]
        least, longest = draw.randint(2, 4), draw.randint(1, 5)
        assert most_in_a_row(units, least, longest) == naive(units, least, longest), units


def test_rows_without_rows_and_huge_rows() -> None:
    assert all(len(mask) == 0 for mask in check(Rows([], ZH_EN)).values())
    huge = Pair(1, "c", "好" * 20_000, "good " * 10_000, "ab " * 10_000)
    found = check(Rows([huge, Pair(2, "c", " ", "\t", " \n ")], ZH_EN))
    assert not any(mask[1] for mask in found.values())
