"""Repairs of characters and white space."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

import numpy as np

from hanyi.corpus.cleaning.blocks import Mask, Side
from hanyi.corpus.cleaning.characters import Class
from hanyi.corpus.cleaning.traits import Trait, is_invisible, is_variation
from hanyi.params import config

ZWNJ, ZWJ = "\u200c", "\u200d"
_FLAG, _TAGS = "\U0001f3f4", re.compile(r"[\U000e0020-\U000e007e]+\U000e007f")
_KEYCAP = "\u20e3"


@config
class Unicode:
    """Normalise characters: NFC joins letters with their accents, NFKC also widths and forms."""

    rule: Literal["unicode"]
    form: Literal["NFC", "NFKC"]

    def suspects(self, side: Side) -> Mask:
        """Find characters that the form may change or join."""
        return side.has(Trait.UNSTABLE_NFC if self.form == "NFC" else Trait.UNSTABLE_NFKC)

    def apply(self, text: str) -> str:
        """Normalise a text."""
        return unicodedata.normalize(self.form, text)


@config
class Spaces:
    """Turn each run of white space into one space, and leave none at the ends.

    White space is what Unicode calls so (space, tab, U+000A to U+000D, U+0085, no-break U+00A0 and
    U+202F, U+1680, U+2000 to U+200A, U+2028, U+2029, U+205F, ideographic U+3000) and the separators
    U+001C to U+001F; zero-width characters are not.
    """

    rule: Literal["spaces"]

    def suspects(self, side: Side) -> Mask:
        """Find other white space than U+0020, neighbouring spaces, and spaces at the ends."""
        spaces = np.asarray(side.classes == Class.SPACE)
        found: Mask = side.has(Trait.WHITE) | side.any_of(_before(spaces))
        full = side.lengths > 0
        starts = side.starts
        found[full] |= spaces[starts[:-1][full]] | spaces[starts[1:][full] - 1]
        return np.asarray(found)

    def apply(self, text: str) -> str:
        """Join the words of a text with single spaces."""
        return " ".join(text.split())


def _before(spaces: Mask) -> Mask:
    """Tell which spaces another one follows; across rows too, where both have one at an end."""
    double: Mask = spaces.copy()
    double[:-1] &= spaces[1:]
    double[-1:] = False
    return double


@config
class Invisible:
    """Remove control characters, soft hyphens, marks of direction and other zero-width characters.

    Those that do work stay: joiners and non-joiners between letters of Arabic, Indic and related
    scripts, joiners and variation selectors in emoji, the tags of flags, signs that are drawn (such
    as U+06DD) and the vowel separator of Mongolian.
    """

    rule: Literal["invisible"]

    def suspects(self, side: Side) -> Mask:
        """Find such characters, at work or not."""
        return side.has(Trait.INVISIBLE)

    def apply(self, text: str) -> str:
        """Remove those that do no work, each run of them judged by what stands around it."""
        kept: list[str] = []
        before, run = "", ""
        for char in text:
            if char not in _DRAWN and is_invisible(char):
                run += char
                continue
            if run:
                kept.append(_at_work(run, before, char))
                run = ""
            kept.append(char)
            before = char
        return "".join(kept) + (_at_work(run, before, "") if run else "")


_DRAWN = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u180e\U000110bd\U000110cd"
)


def _at_work(run: str, before: str, after: str) -> str:
    """Give what is to stay of a run of invisible characters between two visible ones."""
    if _is_joining(before) and _is_joining(after):
        return next((char for char in run if char in {ZWNJ, ZWJ}), "")
    if before == _FLAG and (tags := _TAGS.search(run)):
        return tags[0]
    variation = next((char for char in run if is_variation(char)), "")
    if after == _KEYCAP:
        return variation
    if not _is_symbol(before):
        return ""
    return variation + (ZWJ if ZWJ in run and _is_symbol(after) else "")


def _is_symbol(char: str) -> bool:
    return char != "" and unicodedata.category(char)[0] == "S"


def _is_joining(char: str) -> bool:
    """Tell letters and marks of the scripts from Arabic to Sinhala, and from Burmese to Mongolian.

    In these, a joiner or non-joiner changes how the letters are written.
    """
    return (
        "\u0600" <= char <= "\u0dff"
        or "\u1000" <= char <= "\u109f"
        or "\u1780" <= char <= "\u18af"
        or "\ufb50" <= char <= "\ufefc"
    ) and unicodedata.category(char)[0] in "LM"
