"""The everyday grammar: what it makes, how it splits, and that its data hold together."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from random import Random

import pytest

from hanyi.errors import HanyiError
from hanyi.starter import digits, english, everyday
from hanyi.starter.everyday import EverydayConfig, EverydayPair, generate
from hanyi.starter.grammar import load

CONFIG = EverydayConfig(sentences=12_000, seed=3, valid=300, test=300)
HAN = re.compile(r"[\u4e00-\u9fff]")


def digest(pairs: Iterable[EverydayPair]) -> str:
    """Hash every field of every pair, in order."""
    state = hashlib.sha256()
    for pair in pairs:
        state.update("\t".join(pair).encode("utf-8") + b"\n")
    return state.hexdigest()


@pytest.fixture(scope="module")
def pairs() -> list[EverydayPair]:
    """One generated corpus, shared by the tests that only read it."""
    return list(generate(CONFIG))


def split(pairs: list[EverydayPair], *names: str) -> list[EverydayPair]:
    """Keep the pairs of some splits."""
    return [pair for pair in pairs if pair.split in names]


def test_words_and_patterns_are_many() -> None:
    grammar = load()
    assert len({word.zh for word in grammar.words if word.parts == (word.zh,)}) >= 1_200
    assert len(grammar.patterns) >= 200
    assert len({pattern.name for pattern in grammar.patterns}) == len(grammar.patterns)


def test_sizes_are_as_asked(pairs: list[EverydayPair]) -> None:
    assert Counter(pair.split for pair in pairs) == {"train": 12_000, "valid": 300, "test": 300}


def test_same_configuration_gives_the_same_pairs_under_any_hash_seed() -> None:
    program = (
        "from tests.unit.test_everyday import *;"
        "print(digest(generate(EverydayConfig(sentences=300, seed=9, valid=9, test=9))))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONHASHSEED": "1", "PYTHONPATH": "src:."},
    )
    here = digest(generate(EverydayConfig(sentences=300, seed=9, valid=9, test=9)))
    assert run.stdout.strip() == here


def test_another_seed_gives_other_pairs() -> None:
    one, two = (
        digest(generate(EverydayConfig(sentences=300, seed=seed, valid=5, test=5)))
        for seed in (1, 2)
    )
    assert one != two


def test_chinese_is_distinct_and_splits_share_no_sentence(pairs: list[EverydayPair]) -> None:
    assert len({pair.zh for pair in pairs}) == len(pairs)
    for name in ("valid", "test"):
        held = {pair.en for pair in split(pairs, name)}
        assert len(held) == len(split(pairs, name))
        assert held.isdisjoint(pair.en for pair in pairs if pair.split != name)


def test_held_out_combinations_are_new_but_their_parts_are_known() -> None:
    grammar = load()
    sampler = everyday._Sampler(grammar, Random(4))
    draws = [
        found for pattern in grammar.patterns for _ in range(12) if (found := sampler.draw(pattern))
    ]
    by_split = {
        name: {draw.key for draw in draws if draw.pair.split == name}
        for name in ("train", "valid", "test")
    }
    assert by_split["test"]
    assert by_split["valid"]
    assert by_split["train"].isdisjoint(by_split["test"] | by_split["valid"])
    assert by_split["valid"].isdisjoint(by_split["test"])


def test_patterns_of_held_out_pairs_occur_in_train(pairs: list[EverydayPair]) -> None:
    known = {pair.pattern for pair in split(pairs, "train")}
    assert {pair.pattern for pair in split(pairs, "valid", "test")} <= known


def test_characters_of_held_out_pairs_occur_in_train(pairs: list[EverydayPair]) -> None:
    train = split(pairs, "train")
    han = {character for pair in train for character in pair.zh}
    words = {word for pair in train for word in re.findall(r"[A-Za-z']+", pair.en)}
    for pair in split(pairs, "test"):
        assert han.issuperset(HAN.findall(pair.zh))
        assert words.issuperset(re.findall(r"[A-Za-z']+", pair.en)), pair


def test_corpus_is_balanced_over_patterns(pairs: list[EverydayPair]) -> None:
    counts = Counter(pair.pattern for pair in split(pairs, "train"))
    assert max(counts.values()) <= 0.02 * 12_000
    assert {pattern.name for pattern in load().patterns} <= set(counts)


def test_sentences_are_well_formed(pairs: list[EverydayPair]) -> None:
    for pair in pairs:
        assert HAN.search(pair.zh), pair
        assert not HAN.search(pair.en), pair
        assert not re.search(r"[{}|]|  |\bNone\b", pair.zh + pair.en), pair
        stopped = pair.zh[-1] in "。？！"
        assert stopped == (pair.en[-1] in ".?!"), pair
        assert stopped or pair.split == "train", pair
        assert " " not in pair.zh, pair
        assert re.match(r"[A-Z0-9]", pair.en), pair
        assert not re.search(r"(?<![\w'])(a [aeio]|an [^aeiouAEIOUh])", pair.en), pair


def test_some_training_statements_lack_the_full_stop(pairs: list[EverydayPair]) -> None:
    train = split(pairs, "train")
    unstopped = [pair for pair in train if pair.zh[-1] not in "。？！"]
    assert 0.05 < len(unstopped) / len(train) < 0.15


def test_digits_are_practised(pairs: list[EverydayPair]) -> None:
    """Copying 00700 takes more examples than a word; the two sides always agree."""
    copied = [pair for pair in pairs if re.search(r"\d{5}", pair.zh)]
    assert len(copied) > 0.05 * len(pairs)
    for pair in copied:
        assert sorted(re.findall(r"\d{5,}", pair.zh)) == sorted(re.findall(r"\d{5,}", pair.en))


def test_every_word_is_reachable() -> None:
    grammar = load()
    sampler = everyday._Sampler(grammar, Random(6))
    left = {word.zh for word in grammar.words if word.parts == (word.zh,)}
    for _ in range(120):
        for pattern in grammar.patterns:
            if found := sampler.draw(pattern):
                left.difference_update(found.words)
        if not left:
            break
    assert not left


@pytest.mark.parametrize("asked", [everyday.SENTENCES_MAX + 1, 10**9])
def test_asking_too_much_is_one_line(asked: int) -> None:
    with pytest.raises(HanyiError) as caught:
        next(iter(generate(EverydayConfig(sentences=asked, seed=1, valid=0, test=0))))
    assert "\n" not in str(caught.value)
    assert "everyday.sentences" in str(caught.value)


@pytest.mark.parametrize(
    ("phrase", "form", "person", "expected"),
    [
        ("go home", "pres", "3s", "goes home"),
        ("be late", "past", "p", "were late"),
        ("study", "past", "3s", "studied"),
        ("play cards", "pres", "3s", "plays cards"),
        ("get up", "ing", "3s", "getting up"),
        ("take out", "pp", "3s", "taken out"),
        ("lie", "ing", "3s", "lying"),
        ("watch", "pres", "3s", "watches"),
        ("do", "neg", "3s", "doesn't"),
        ("be", "neg", "1s", "am not"),
    ],
)
def test_verbs(phrase: str, form: str, person: str, expected: str) -> None:
    assert english.verb(phrase, form, person) == expected


def test_nouns_adjectives_and_numbers() -> None:
    assert english.plural("cup of tea") == "cups of tea"
    assert english.plural("Chinese teacher") == "Chinese teachers"
    assert english.plural("policewoman") == "policewomen"
    assert english.article("hour") == "an hour"
    assert english.article("university") == "a university"
    assert english.compare("big", "er") == "bigger"
    assert english.compare("happy", "est") == "happiest"
    assert english.compare("expensive", "er") == "more expensive"
    assert english.number(215) == "two hundred and fifteen"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2, "二"),
        (12, "十二"),
        (20, "二十"),
        (105, "一百零五"),
        (110, "一百一十"),
        (2_000, "两千"),
        (30_000, "三万"),
        (1_005, "一千零五"),
        (99, "九十九"),
    ],
)
def test_chinese_numbers(value: int, expected: str) -> None:
    assert digits.han(value) == expected
