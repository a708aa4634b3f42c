"""The scripts of the letters of a sample: enough to tell a language from another, row by row."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

OTHER = "Other"
_NAMES = {"CJK": "Han", "IDEOGRAPHIC": "Han"}


def scripts_in(text: str) -> Counter[str]:
    """Count the letters of each script, by the names that `languages.scripts` gives."""
    return Counter(map(_script, filter(str.isalpha, text)))


@lru_cache(maxsize=1 << 16)
def _script(letter: str) -> str:
    word = unicodedata.name(letter, OTHER).split()[0]
    return _NAMES.get(word, word.capitalize())
