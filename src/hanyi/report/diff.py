"""Where a translation and its reference differ: by characters, and by words where none remain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from enum import Enum
from typing import NamedTuple

from hanyi.analysis.words import WORD

SHORTEST = 3
"""Characters in a row that two different words must share, at least, to be shown as alike."""

LONGEST = 200
"""Characters of a run of replaced words, at most, within which characters are compared."""

_UNIT = re.compile(rf"{WORD.pattern}|\s+|.", re.DOTALL)


class Kind(Enum):
    """Whose text a piece is."""

    MISSING = "missing"
    EXTRA = "extra"
    SAME = "same"


class Piece(NamedTuple):
    """A run of characters: only in the reference (missing), only in the translation, or in both."""

    kind: Kind
    text: str


class _Change(NamedTuple):
    """Text of the reference, what stands there instead, and what both have after it."""

    missing: str
    extra: str
    same: str


def differences(reference: str, translation: str) -> list[Piece]:
    """Give the pieces of both texts in order.

    Those that are the same or missing make up the reference; those that are the same or extra, the
    translation. Words are aligned first (Ratcliff and Metzener 1988); within words that were
    replaced, only runs of characters that are half of their words count as the same.
    """
    pieces: list[Piece] = []
    for change in _joined(_refined(reference, translation)):
        for kind, text in zip(Kind, change, strict=True):
            if text and pieces and pieces[-1].kind is kind:
                pieces[-1] = Piece(kind, pieces[-1].text + text)
            elif text:
                pieces.append(Piece(kind, text))
    return pieces


def _refined(reference: str, translation: str) -> Iterator[_Change]:
    words = _changes(_UNIT.findall(reference), _UNIT.findall(translation))
    for change in _joined(words):
        yield from _inside(change.missing, change.extra)
        yield _Change("", "", change.same)


def _changes(theirs: Sequence[str], ours: Sequence[str]) -> Iterator[_Change]:
    at_theirs = at_ours = 0
    # Spaces are the same only beside words that are.
    matcher = SequenceMatcher(str.isspace, theirs, ours, autojunk=False)
    for start_theirs, start_ours, size in matcher.get_matching_blocks():
        yield _Change(
            "".join(theirs[at_theirs:start_theirs]),
            "".join(ours[at_ours:start_ours]),
            "".join(theirs[start_theirs : start_theirs + size]),
        )
        at_theirs, at_ours = start_theirs + size, start_ours + size


def _inside(missing: str, extra: str) -> Iterator[_Change]:
    """Compare texts without a word in common by their characters."""
    if max(len(missing), len(extra)) > LONGEST:  # hardly the same words, and the time is cubic
        yield _Change(missing, extra, "")
        return
    matcher = SequenceMatcher(None, missing, extra, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size >= SHORTEST]
    words = _numbers_of_words(missing), _numbers_of_words(extra)
    sizes = [Counter(side) for side in words]
    shared = Counter[int](), Counter[int]()  # how much of each word the other text has too
    for block in blocks:
        for side, word in _touched(block, words):
            shared[side][word] += 1
    at_missing = at_extra = 0
    for block in blocks:
        if all(
            2 * shared[side][word] >= sizes[side][word] for side, word in _touched(block, words)
        ):
            end = block.a + block.size
            yield _Change(
                missing[at_missing : block.a], extra[at_extra : block.b], missing[block.a : end]
            )
            at_missing, at_extra = end, block.b + block.size
    yield _Change(missing[at_missing:], extra[at_extra:], "")


def _touched(block: Match, words: tuple[list[int], list[int]]) -> Iterator[tuple[int, int]]:
    """Give side and number of the word of each character of a block, on both sides."""
    for side, start in enumerate((block.a, block.b)):
        for word in words[side][start : start + block.size]:
            yield side, word


def _numbers_of_words(text: str) -> list[int]:
    """Give for each character the number of the word that it is in."""
    return [number for number, unit in enumerate(_UNIT.findall(text)) for _ in unit]


def _joined(changes: Iterator[_Change]) -> Iterator[_Change]:
    """Join changes that only spaces or marks part, which are no more the same than their words."""
    missing = extra = between = ""
    for change in changes:
        if change.missing or change.extra:
            missing += between + change.missing
            extra += between + change.extra
            between = ""
        if WORD.search(change.same) or not (missing or extra):
            yield _Change(missing, extra, between + change.same)
            missing = extra = between = ""
        else:
            between += change.same
    if missing or extra or between:
        yield _Change(missing, extra, between)
