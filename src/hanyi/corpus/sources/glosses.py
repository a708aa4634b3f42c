"""Word glosses as training rows: the first short sense of a dictionary entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

WORDS_MAX = 5
"""English words of a sense, at most: a longer one explains rather than translates."""

_ASIDE = re.compile(r"\([^()]*\)")
_CHINESE = re.compile(r"(?:[\u3400-\u9fff]+\|)?[\u3400-\u9fff]+(?:\[[^\]]*\])?|\[[^\]]*\]")
_SHORTHAND = {"sth": "something", "sb": "somebody", "sb's": "somebody's"}
_NO_SENSE = re.compile(
    r"\.\.\.|…|^\s*(see|abbr|used|also written|also pr|name of|CL)\b"
    r"|\b(surname|variant of|classifier|particle|suffix|prefix|radical|interjection|ancient)\b",
    re.IGNORECASE,
)


class Glosses(NamedTuple):
    """Distinct (word, sense) pairs in order of appearance, and words without a usable sense."""

    pairs: list[tuple[str, str]]
    skipped: int


def collect(tokens: Iterable[Mapping[str, Any]]) -> Glosses:
    """Collect glosses from records with `word` and `gloss_en`."""
    pairs: dict[tuple[str, str], None] = {}
    words: dict[str, bool] = {}
    for token in tokens:
        word, sense = token["word"], first_sense(token["gloss_en"])
        words[word] = words.get(word, False) or sense is not None
        if sense is not None:
            pairs[word, sense] = None
    return Glosses(list(pairs), sum(1 for usable in words.values() if not usable))


def first_sense(gloss: str) -> str | None:
    """Give the first sense that reads as a translation, or None.

    Parentheses, Chinese words with their pinyin in brackets, and measure-word notes ("CL:...") are
    left out; so are senses that only describe ("surname Huang", "classifier for cars").
    """
    for part in _without_asides(gloss).split(";"):
        if _NO_SENSE.search(part):
            continue
        sense = " ".join(_SHORTHAND.get(word, word) for word in _CHINESE.sub("", part).split())
        sense = re.sub(r"\s+([,.!?])", r"\1", sense).strip(" ,.:-")
        if _usable(sense):
            return sense
    return None


def _without_asides(text: str) -> str:
    while (shorter := _ASIDE.sub("", text)) != text:  # they nest
        text = shorter
    return text


def _usable(sense: str) -> bool:
    words = len(sense.removeprefix("to ").split())
    return (
        any(map(str.isalpha, sense)) and words <= WORDS_MAX and not re.search(r"[()\[\]|/]", sense)
    )
