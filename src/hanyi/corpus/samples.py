"""Samples of the rows that a step took or changed: a few, chosen fairly, and made readable."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hanyi.corpus.shingles import scatter

MOST = 20
"""Samples of a step, at most."""

LONGEST = 200
"""Characters of a text that are shown, at most."""

BEFORE_CHANGE = 40  # characters of a long text that stand before the first change
EMPTY = "⟨empty⟩"
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))  # variation selectors, marks unseen
WIDE_SPACES = re.compile(r"^ +| +$| {2,}")

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejected row, its texts fit to be shown."""

    id: int
    file: str
    line: int
    src: str
    tgt: str


@dataclass(frozen=True, slots=True)
class Repair:
    """One side of a changed row, its texts fit to be shown."""

    id: int
    side: str
    before: str
    after: str


class Smallest(Generic[Item]):
    """The items whose ids have the smallest hashes.

    That is a sample without bias, which no size or order of blocks can change, in bounded memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._worst = np.uint64(np.iinfo(np.uint64).max)
        self._found: list[tuple[int, int, Item]] = []

    def add(self, ids: NDArray[np.int64], make: Callable[[int], Item]) -> None:
        """Look at the rows of a block; `make` is called with the numbers of the few that enter."""
        hashes = splitmix64(ids)
        rows = np.flatnonzero(hashes <= self._worst)
        rows = rows[np.argsort(hashes[rows], kind="stable")[: self._most]]
        if not len(rows):
            return
        fresh = [(int(hashes[row]), int(ids[row]), make(int(row))) for row in rows]
        self._found = sorted([*self._found, *fresh], key=lambda entry: entry[0])[: self._most]
        if len(self._found) == self._most:
            self._worst = np.uint64(self._found[-1][0])

    def items(self) -> list[Item]:
        """Give the items in the order of their ids."""
        return [item for _, _, item in sorted(self._found, key=lambda entry: entry[1])]


def splitmix64(ids: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Scatter ids over all 64-bit numbers, one to one (Steele, Lea and Flood 2014)."""
    return scatter(ids.astype(np.uint64), 0)


def excerpt(text: str, start: int = 0, *, marks: bool = False, longest: int = LONGEST) -> str:
    """Give `longest` characters from `start`, saying what is left out, with nothing invisible."""
    end = start + longest
    before = f"[{start:,} characters] … " if start else ""
    after = f" … [{len(text) - end:,} more characters]" if end < len(text) else ""
    return before + visible(text[start:end], marks=marks) + after


def change(before: str, after: str) -> tuple[str, str]:
    """Give excerpts of a text before and after a repair, from shortly before the first change."""
    start = 0
    if max(len(before), len(after)) > LONGEST:
        pairs = zip(before, after, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        start = max(0, same - BEFORE_CHANGE)
    alike = _composed(before) == _composed(after)
    return excerpt(before, start, marks=alike), excerpt(after, start, marks=alike)


def visible(text: str, *, marks: bool = False) -> str:
    """Show what has no shape by its code point: odd spaces, controls and the like.

    With `marks` also what looks like something else: accents of their own, the sign for Ångström.
    """
    shown = "".join(
        f"⟨U+{ord(character):04X}⟩"
        if _is_hidden(character) or (marks and _looks_like_another(character))
        else character
        for character in text
    )
    return WIDE_SPACES.sub(lambda run: "␣" * len(run[0]), shown) or EMPTY


@lru_cache(1 << 14)
def _is_hidden(character: str) -> bool:
    if character == " ":
        return False
    selects = any(ord(character) in some for some in SELECTORS)
    return selects or unicodedata.category(character) in HIDDEN


def _looks_like_another(character: str) -> bool:
    return unicodedata.combining(character) > 0 or _composed(character) != character


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)
