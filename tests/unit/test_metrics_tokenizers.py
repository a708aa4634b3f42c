from __future__ import annotations

import pytest

from hanyi.errors import ParamsError
from hanyi.metrics.lexical import measure
from hanyi.metrics.tokenizers import bleu_tokenizer, check_tokenizer


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("en", "13a"), ("en-GB", "13a"), ("de", "13a"), ("ru", "13a"), ("ar", "13a"), ("vi", "13a"),
        ("zh", "zh"), ("cmn", "zh"), ("zho", "zh"), ("zh-TW", "zh"), ("zh_Hant", "zh"),
        ("yue", "zh"), ("ja", "ja-mecab"), ("jpn", "ja-mecab"), ("ko", "ko-mecab"),
        ("th", "char"), ("lo", "char"), ("my", "char"), ("km", "char"),
    ],
)  # fmt: skip
def test_auto_follows_the_target_language(target: str, expected: str) -> None:
    assert bleu_tokenizer("auto", target) == expected
    assert bleu_tokenizer(expected, target) == expected


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("13a", "zh"), ("intl", "zh"), ("none", "zh"), ("ja-mecab", "zh"), ("13a", "zh-TW"),
        ("13a", "ja"), ("zh", "ja"), ("13a", "th"), ("intl", "km"), ("zh", "my"), ("13a", "lo"),
        ("zh", "en"), ("ko-mecab", "en"), ("ja-mecab", "de"), ("zh", "ko"),
    ],
)  # fmt: skip
def test_a_tokenizer_of_another_language_is_refused(name: str, target: str) -> None:
    with pytest.raises(ParamsError, match=rf"score\.tokenize: {name} for {target}, ") as caught:
        bleu_tokenizer(name, target)
    assert f"auto ({bleu_tokenizer('auto', target)})" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("target", ["en", "zh", "ja", "ko", "th", "de"])
def test_characters_and_pieces_suit_every_language(target: str) -> None:
    for name in ("char", "flores101", "flores200", "spm", "spBLEU-1K"):
        assert bleu_tokenizer(name, target) == name


def test_korean_may_be_parted_at_its_spaces() -> None:
    assert bleu_tokenizer("13a", "ko") == "13a"


def test_an_unknown_name_is_refused_with_the_list() -> None:
    with pytest.raises(ParamsError, match=r"score\.tokenize: 14a, expected auto or one of .*13a"):
        bleu_tokenizer("14a", "en")
    with pytest.raises(ValueError, match=r"tokenize must be one of auto, .*13a.*, got 14a"):
        check_tokenizer("14a")


@pytest.mark.parametrize("target", ["en", "zh", "th"])
def test_what_auto_gives_is_there(target: str) -> None:
    assert measure(["a"], ["b"], bleu_tokenizer("auto", target))
