"""Traits of characters that few rows have: one lookup tells all rules which rows to look at."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from enum import IntFlag

import numpy as np

from hanyi.corpus.cleaning.characters import Table

_VARIATION = re.compile(r"[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
# Composed with what stands before them, though they are no marks: vowels and finals of Hangul, and
# vowel signs of Kirat Rai.
_COMPOSING = re.compile(r"[\u1160-\u11ff\U00016d63-\U00016d6a]")
_UNSEEN = frozenset({"Cc", "Cf"})
_MISREAD = re.compile(r"[\ufffd\x80-\x84\x86-\x9f\xa1-\xff锟烫屯銆鈥]")


class Trait(IntFlag):
    """What makes a character worth a look; a character may have several traits."""

    UNSTABLE_NFC = 1
    """NFC may change it or join it with its neighbours."""
    UNSTABLE_NFKC = 2
    AMPERSAND = 4
    LESS_THAN = 8
    INVISIBLE = 16
    """A control or format character, or one that selects a variant."""
    WHITE = 32
    """White space other than U+0020."""
    MISREAD = 64
    """Occurs in text that was read in a wrong encoding."""
    LINKING = 128
    """One of the characters that every address or path has."""
    VISIBLE = 256
    """Neither white space nor a control or format character."""
    SPACE = 512
    """U+0020."""


def is_invisible(char: str) -> bool:
    """Tell whether a character is a control, a format character or a variation selector."""
    category = unicodedata.category(char)
    return category == "Cf" or (category == "Cc" and not char.isspace()) or is_variation(char)


def is_variation(char: str) -> bool:
    """Tell whether a character selects a variant of the one before it."""
    return _VARIATION.match(char) is not None


def _unstable(form: str) -> Callable[[str], bool]:
    def test(char: str) -> bool:
        joins = unicodedata.category(char)[0] == "M" or _COMPOSING.match(char)
        return bool(joins) or unicodedata.normalize(form, char) != char  # type: ignore[arg-type]

    return test


_TESTS: dict[Trait, Callable[[str], bool]] = {
    Trait.UNSTABLE_NFC: _unstable("NFC"),
    Trait.UNSTABLE_NFKC: _unstable("NFKC"),
    Trait.AMPERSAND: "&".__eq__,
    Trait.LESS_THAN: "<".__eq__,
    Trait.INVISIBLE: is_invisible,
    Trait.WHITE: lambda char: char.isspace() and char != " ",
    Trait.MISREAD: lambda char: _MISREAD.match(char) is not None,
    Trait.LINKING: lambda char: char in "/\\@.",
    Trait.VISIBLE: lambda char: not char.isspace() and unicodedata.category(char) not in _UNSEEN,
    Trait.SPACE: " ".__eq__,
}


def _traits(char: str) -> int:
    return sum(trait for trait, test in _TESTS.items() if test(char))


TRAITS = Table(_traits, np.uint16)
