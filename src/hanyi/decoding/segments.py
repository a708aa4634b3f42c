"""Over-long sources: cut where a reader would pause, and translated parts joined again."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import chain

CLOSERS = "”’」』》）)\\]\"'"
PAUSE = r"(?=[\s\u2e80-\uffef])"  # a space or a wide sign comes next

# Where a text may be cut, the best places first; each match ends at one.
BREAKS = (
    # After a sentence and what closes it. A narrow mark needs a space or a wide sign behind it, for
    # 3.14, example.com and the like go on; so does a name after an initial, as in "J. Smith".
    re.compile(rf"[。！？；…]+[{CLOSERS}]*|(?<!\b[^\W\d_])[.!?;…]+[{CLOSERS}]*{PAUSE}"),
    # After a clause, but neither in 1,000 nor in 10:30.
    re.compile(rf"[，、：][{CLOSERS}]*|——|[,:][{CLOSERS}]*{PAUSE}"),
    re.compile(r"\s+"),
)

FLAG_LETTERS = re.compile("[\U0001f1e6-\U0001f1ff]+$")
JOINER = "\u200d"  # of emoji, which are one picture together


def split_long(text: str, length: Callable[[str], int], most: int) -> list[str]:
    """Cut a text into parts of at most `most` by `length`, as few as its breaks allow.

    Only white space between the parts is lost. A text without any break is cut in halves, where
    possible between words and never, if that can be avoided, inside of what a reader sees as one
    sign. A single sign that is longer than `most` stays whole. An empty text has no parts.
    """

    def fits(part: str) -> bool:
        return length(part.strip()) <= most

    return [part.strip() for part in _split(text, fits, 0) if part.strip()]


def _split(text: str, fits: Callable[[str], bool], level: int) -> list[str]:
    if fits(text):
        return [text]
    if level == len(BREAKS):
        middle = _middle(text)
        if not middle:
            return [text]
        return [
            part for half in (text[:middle], text[middle:]) for part in _split(half, fits, level)
        ]
    parts: list[str] = []
    for piece in _pieces(text, BREAKS[level]):
        if parts and fits(parts[-1] + piece):
            parts[-1] += piece
        else:
            parts += _split(piece, fits, level + 1)
    return parts


def _pieces(text: str, breaks: re.Pattern[str]) -> list[str]:
    ends = [found.end() for found in breaks.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


def _middle(text: str) -> int:
    """Give the best place to cut near the middle, 0 when the text is a single sign."""
    places = sorted(range(1, len(text)), key=lambda place: abs(2 * place - len(text)))
    signs = (place for place in places if not _inside_sign(text, place))
    nearest = next(signs, 0)
    between = (place for place in chain([nearest], signs) if not _inside_word(text, place))
    return next(between, nearest) if nearest else 0


def _inside_sign(text: str, place: int) -> bool:
    """Tell whether a cut would part letter and accent, or the pieces of an emoji."""
    before, after = text[place - 1], text[place]
    if unicodedata.category(after) in {"Mn", "Mc", "Me"} or JOINER in {before, after}:
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff":  # colours of skin
        return True
    if not FLAG_LETTERS.match(after):
        return False
    letters = FLAG_LETTERS.search(text[:place])  # each two are a flag
    return bool(letters and len(letters[0]) % 2)


def _inside_word(text: str, place: int) -> bool:
    """Tell whether a cut would part a number, or a word of a script with spaces."""
    around = text[max(0, place - 2) : place + 2]
    if re.search(r"\d[.,:]\d", around):
        return True
    before, after = text[place - 1], text[place]
    return before.isalnum() and after.isalnum() and not (_is_wide(before) or _is_wide(after))


def _is_wide(sign: str) -> bool:
    return unicodedata.east_asian_width(sign) in "WF"


def join_parts(parts: Sequence[str]) -> str:
    """Join translated parts, with a space except after a sign of a script that has none."""
    joined = ""
    for part in filter(None, parts):
        unspaced = not joined or (_is_wide(joined[-1]) and not _is_hangul(joined[-1]))
        joined += part if unspaced else f" {part}"
    return joined


def _is_hangul(sign: str) -> bool:
    return "HANGUL" in unicodedata.name(sign, "")
