"""Prefixes and terms become tokens; terms are found and checked as words of their script."""

from __future__ import annotations

import pytest

from hanyi.decoding.sentences import Wish
from hanyi.decoding.wishes import Wishes, holds
from hanyi.errors import ParamsError
from hanyi.tokens.bpe import Tokenizer
from tests.models import tiny_tokenizers


@pytest.fixture(scope="module")
def tgt(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return tiny_tokenizers(tmp_path_factory.mktemp("made") / "tokenizers")[1]


def test_nothing_is_asked_for(tgt: Tokenizer) -> None:
    assert Wishes("", {}, tgt).wish("我爱你。", first=True) == Wish()
    assert Wishes("  ", {"猫": "cat"}, tgt).wish("我爱你。", first=True) == Wish()


def test_a_prefix_belongs_to_the_first_part_without_the_space_at_its_end(tgt: Tokenizer) -> None:
    wishes = Wishes("We are ", {}, tgt)
    assert wishes.wish("他好。", first=True).prefix == tuple(tgt.encode("We are"))
    assert wishes.wish("他好。", first=False) == Wish()


def test_white_space_around_a_target_term_is_left_out(tgt: Tokenizer) -> None:
    spaced, plain = (Wishes("", {"猫": term}, tgt) for term in (" cat ", "cat"))
    assert spaced.wish("猫", first=True) == plain.wish("猫", first=True)
    assert spaced.terms("猫") == ["cat"]


def test_the_rest_of_a_word_can_follow_any_prefix(tgt: Tokenizer) -> None:
    text = "How are you?"
    for end in range(len(text) + 1):
        begun = tgt.encode(text[:end])
        assert tgt.decode([*begun, *tgt.encode(text[end:])]) == text


@pytest.mark.parametrize(
    ("terms", "source", "expected"),
    [
        ({"北京": "Beijing"}, "我在北京。", ["Beijing"]),
        ({"北京": "Beijing"}, "我在南京。", []),
        (
            {"北京": "Beijing", "北京大学": "Peking University"},
            "北京大学很好",
            ["Peking University"],
        ),
        ({"大学": "university", "北京大": "x"}, "北京大学", ["x"]),
        ({"猫": "cat", "狗": "dog"}, "狗和猫和狗", ["dog", "cat"]),
        ({"cat": "猫"}, "a cat, concat", ["猫"]),
        ({"cat": "猫"}, "concat cats", []),
        ({"GPU": "显卡"}, "用GPU训练", ["显卡"]),
        ({"3": "three"}, "有13个", []),
        ({"C++": "C++"}, "学C++。", ["C++"]),
        ({"a.b": "x"}, "axb", []),
    ],
)
def test_terms_are_found_in_the_source(
    tgt: Tokenizer, terms: dict[str, str], source: str, expected: list[str]
) -> None:
    wishes = Wishes("", terms, tgt)
    assert wishes.terms(source) == expected
    assert len(wishes.wish(source, first=False).terms) == len(expected)


def test_a_term_may_begin_the_sentence_or_follow_a_space(tgt: Tokenizer) -> None:
    (runs,) = Wishes("", {"爱": "love"}, tgt).wish("我爱你", first=True).terms
    assert {tgt.decode(run) for run in runs} == {"love", " love", "Love", " Love"}
    (runs,) = Wishes("", {"爱": "Beijing"}, tgt).wish("我爱你", first=True).terms
    assert {tgt.decode(run) for run in runs} == {"Beijing", " Beijing"}
    (runs,) = Wishes("", {"爱": "北京"}, tgt).wish("我爱你", first=True).terms
    assert {tgt.decode(run) for run in runs} == {"北京", " 北京"}


@pytest.mark.parametrize(
    ("text", "term", "expected"),
    [
        ("I love you.", "love", True),
        ("Love me.", "love", True),
        ("I loved you.", "love", False),
        ("gloves", "love", False),
        ("beijing", "Beijing", False),
        ("(Beijing)", "Beijing", True),
        ("我爱北京人", "北京", True),
        ("用GPU训练", "GPU", True),
        ("C++ is", "C++", True),
    ],
)
def test_terms_are_checked_in_the_translation(text: str, term: str, expected: bool) -> None:
    assert holds(text, term) == expected


def test_terms_that_no_source_holds_are_named(tgt: Tokenizer) -> None:
    wishes = Wishes("", {"北京": "Peking", "北京大学": "Peking University", "cat": "Katze"}, tgt)
    assert wishes.unused(["他在北京大学。", "concatenate"]) == ["北京", "cat"]
    assert wishes.unused(["北京大学在北京。", "A cat."]) == []
    assert Wishes("", {}, tgt).unused(["北京"]) == []


@pytest.mark.parametrize("terms", [{"": "x"}, {"x": " "}])
def test_terms_without_text(tgt: Tokenizer, terms: dict[str, str]) -> None:
    with pytest.raises(ParamsError, match=r"decode\.terms: a term without text"):
        Wishes("", terms, tgt)
