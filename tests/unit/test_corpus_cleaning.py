"""Normalisation changes what its docstring says and nothing else; each filter rejects its own."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from hanyi.corpus.cleaning import (
    FILTERS,
    UNICODE_FORMS,
    PrepareConfig,
    empty,
    identical,
    length_ratio,
    normaliser,
    over_long,
)
from hanyi.errors import ParamsError
from hanyi.params import parse

VALUES = {
    "unicode": "NFC",
    "max_chars": 10,
    "length_ratio": [0.5, 3.0],
    "split": {"valid": 2, "test": 3, "seed": 1},
}


def test_white_space_becomes_single_spaces() -> None:
    normal = normaliser("NFC")
    assert normal("\u3000 我\t 爱\xa0\u202f你\r\n\u2028\x85\x0b\x0c。 ") == "我 爱 你 。"


def test_every_white_space_character_and_no_other_is_squeezed() -> None:
    normal = normaliser("none")
    squeezed = {code for code in range(sys.maxunicode + 1) if normal(f"a{chr(code)}b") == "a b"}
    named = {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
    assert squeezed == named | set(range(0x09, 0x0E)) | set(range(0x1C, 0x20)) | set(
        range(0x2000, 0x200B)
    )


@pytest.mark.parametrize("text", ["a\u200bb", "a\ufeffb", "a\0b", "“引号” — “quotes”", "Ａ１！"])
def test_the_rest_stays(text: str) -> None:
    assert normaliser("NFC")(text) == text
    assert normaliser("none")(text) == text


def test_unicode_forms() -> None:
    assert normaliser("NFC")("e\u0301") == "é"
    assert normaliser("none")("e\u0301") == "e\u0301"
    assert normaliser("NFKC")("Ａ１！\u3000x") == "A1! x"
    assert normaliser("NFKC")("\xa8") == unicodedata.normalize("NFKC", "\xa8").strip()


def test_filters() -> None:
    assert empty("", "a")
    assert empty("a", "")
    assert not empty("a", "b")
    assert over_long("aaaa", "b", max_chars=3)
    assert over_long("b", "aaaa", max_chars=3)
    assert not over_long("aaa", "aaa", max_chars=3)
    assert length_ratio("aaaa", "b", least=0.5, most=3.0)
    assert length_ratio("a", "bbbb", least=0.5, most=3.0)
    assert not length_ratio("aa", "b", least=0.5, most=3.0)
    assert not length_ratio("a", "bbb", least=0.5, most=3.0)
    assert identical("OK", "OK")
    assert not identical("OK", "ok")


@pytest.mark.parametrize(
    ("src", "tgt", "reason"),
    [
        ("", "", "empty"),
        ("a" * 11, "a" * 11, "over_long"),
        ("a" * 9, "a", "length_ratio"),
        ("same", "same", "identical"),
        ("我爱你", "love", None),
    ],
)
def test_the_first_filter_to_object_gives_the_reason(
    src: str, tgt: str, reason: str | None
) -> None:
    config = parse("prepare", PrepareConfig, VALUES)
    found = [name for name, make in FILTERS.items() if make(config)(src, tgt)]
    assert next(iter(found), None) == reason


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("unicode", "NFX", ["NFX", *UNICODE_FORMS]),
        ("max_chars", 0, ["max_chars", "0"]),
        ("max_chars", "many", ["prepare.max_chars", "many"]),
        ("length_ratio", [3, 1], ["length_ratio", "3"]),
        ("length_ratio", [3], ["prepare.length_ratio"]),
        ("split", {"valid": -1, "test": 1, "seed": 1}, ["prepare.split", "-1"]),
        ("split", {"valid": 1, "tset": 1, "seed": 1}, ["prepare.split.tset"]),
    ],
)
def test_bad_parameters(key: str, value: object, words: list[str]) -> None:
    with pytest.raises(ParamsError) as caught:
        parse("prepare", PrepareConfig, VALUES | {key: value})
    for word in words:
        assert word in str(caught.value)
