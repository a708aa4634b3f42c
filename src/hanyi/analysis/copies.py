"""What a translation takes over as it is: numbers, words of both sides, names."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from hanyi.analysis.numerals import values
from hanyi.analysis.words import UNSPACED, WORD
from hanyi.scoring.pairing import Pair

# A capital after one of these says nothing: a sentence may begin there.
_OPENERS = frozenset(".!?…:;。！？：；\"“”„«»'‘’()（）「」『』《》[]-–—/*•")
_UNSPACED = re.compile(f"[{UNSPACED}]")


class Copied(NamedTuple):
    """How many things a translation should have, as its reference has them, and how many it has."""

    expected: int
    found: int


def numbers(pair: Pair) -> Copied:
    """Look for the numbers of the source that the reference has too, by their values."""
    expected = values(pair.source) & values(pair.reference)
    return Copied(len(expected), len(expected & values(pair.hypothesis)))


def shared_words(pair: Pair) -> Copied:
    """Look for words that source and reference share, such as Latin names within Chinese.

    Words of one letter, of digits and of scripts without spaces are not looked for.
    """
    expected = _spelled(pair.source) & _spelled(pair.reference)
    return _copied(expected, pair.hypothesis)


def names(pair: Pair) -> Copied:
    """Look for words that have a capital in the reference, though no sentence begins there.

    That is names, for the most part, and in German nouns. Words of one letter are left out.
    """
    return _copied(Counter(_capitals(pair.reference)), pair.hypothesis)


KINDS = {"numbers": numbers, "shared_words": shared_words, "names": names}
TITLES = {
    "numbers": "numbers of the source that the reference has",
    "shared_words": "words that source and reference share",
    "names": "words with a capital inside the reference",
}


def _copied(expected: Counter[str], hypothesis: str) -> Copied:
    if not expected:
        return Copied(0, 0)
    return Copied(expected.total(), (expected & Counter(WORD.findall(hypothesis))).total())


def _spelled(text: str) -> Counter[str]:
    return Counter(
        word
        for word in WORD.findall(text)
        if len(word) > 1 and not word.isdigit() and not _UNSPACED.match(word)
    )


def _capitals(text: str) -> list[str]:
    found = []
    end = 0
    for match in WORD.finditer(text):
        word, between = match[0], text[end : match.start()].rstrip()
        inside = between[-1] not in _OPENERS if between else end > 0
        if inside and len(word) > 1 and word[0].isupper():
            found.append(word)
        end = match.end()
    return found
