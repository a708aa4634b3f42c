"""Classes of characters, looked up for millions of them at once."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

CODE_POINTS = 0x110000


class Class(IntEnum):
    """What a character is: each is of exactly one class, letters are of their script."""

    HAN = 0
    HIRAGANA = 1
    KATAKANA = 2
    HANGUL = 3
    LATIN = 4
    CYRILLIC = 5
    GREEK = 6
    ARABIC = 7
    HEBREW = 8
    DEVANAGARI = 9
    THAI = 10
    OTHER_LETTER = 11
    MARK = 12
    DIGIT = 13
    SPACE = 14
    """U+0020 alone."""
    WHITE = 15
    """All other white space: what `str.isspace` calls so."""
    CONTROL = 16
    FORMAT = 17
    """Zero-width characters, marks of direction, soft hyphen and the like."""
    PUNCTUATION = 18
    SYMBOL = 19
    OTHER = 20
    """Number signs that are no digits, private use, unassigned."""


LETTERS = slice(Class.HAN, Class.MARK)
UNSPACED = (Class.HAN, Class.HIRAGANA, Class.KATAKANA, Class.THAI)
"""Scripts that put no space between words."""

SCRIPTS = {
    "Han": Class.HAN,
    "Hiragana": Class.HIRAGANA,
    "Katakana": Class.KATAKANA,
    "Hangul": Class.HANGUL,
    "Latin": Class.LATIN,
    "Cyrillic": Class.CYRILLIC,
    "Greek": Class.GREEK,
    "Arabic": Class.ARABIC,
    "Hebrew": Class.HEBREW,
    "Devanagari": Class.DEVANAGARI,
    "Thai": Class.THAI,
    "Other": Class.OTHER_LETTER,
}
"""Names of scripts, as `languages.scripts` gives them."""

# The first word of a letter's Unicode name is its script, with few exceptions.
_OF_NAME = {name.upper(): script for name, script in SCRIPTS.items()} | {"CJK": Class.HAN}
_OF_CATEGORY = {
    "L": Class.OTHER_LETTER,
    "M": Class.MARK,
    "Nd": Class.DIGIT,
    "Zs": Class.WHITE,
    "Zl": Class.WHITE,
    "Zp": Class.WHITE,
    "Cc": Class.CONTROL,
    "Cf": Class.FORMAT,
    "P": Class.PUNCTUATION,
    "S": Class.SYMBOL,
}


def classify(char: str) -> Class:
    """Give the class of one character."""
    if char == " ":
        return Class.SPACE
    if char.isspace():
        return Class.WHITE
    if char == "々":  # repeats a character: a letter modifier by its name
        return Class.HAN
    category = unicodedata.category(char)
    if category[0] != "L":
        return _OF_CATEGORY.get(category, _OF_CATEGORY.get(category[0], Class.OTHER))
    words = unicodedata.name(char, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    return _OF_NAME.get(words.split(" ")[0].split("-")[0], Class.OTHER_LETTER)


class Table:
    """A value for each code point, computed when a character is met for the first time.

    `function` gives a number from 0 up to the largest of `dtype` but one, which stands for unknown.
    """

    def __init__(self, function: Callable[[str], int], dtype: type[Any] = np.uint8) -> None:
        self._function = function
        self._unknown = np.iinfo(dtype).max
        self._values = np.full(CODE_POINTS, self._unknown, dtype)

    def __getitem__(self, codes: NDArray[np.uint32]) -> NDArray[Any]:
        """Give the values of code points, as an array of the same shape."""
        found = self._values.take(codes)
        unknown = found == self._unknown
        if unknown.any():
            # Threads may do this at once: they write the same values.
            for code in np.unique(codes[unknown]):
                self._values[code] = self._function(chr(code))
            found = self._values.take(codes)
        return found


CLASSES = Table(classify)
