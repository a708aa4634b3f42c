"""Filters by the sizes of the two sides."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hanyi.corpus.cleaning.blocks import Block, Mask, Side
from hanyi.corpus.cleaning.characters import LETTERS, Class
from hanyi.corpus.cleaning.traits import Trait
from hanyi.params import at_least, config

# How many letters of an alphabet say what one letter of a script says: translations have about 3
# English letters for a Han character, and 2 for a kana or a syllable of Hangul.
SIZES = np.zeros(len(Class), np.int64)
SIZES[LETTERS] = 1
SIZES[Class.DIGIT] = 1
SIZES[Class.HAN] = 3
SIZES[[Class.HIRAGANA, Class.KATAKANA, Class.HANGUL]] = 2

_MARGIN = 3
"""Letters added to both sides of a ratio."""


def _check(least: float, most: float) -> None:
    at_least("least", least, 0)
    if not least <= most:
        raise ValueError(f"least must be at most most, got least {least} and most {most}")


@config
class Empty:
    """Reject a pair with nothing visible on a side."""

    rule: Literal["empty"]
    spares_given: ClassVar[bool] = False

    def objects(self, block: Block) -> Mask:
        """Find sides of white space, control and format characters alone."""
        return ~(block.src.has(Trait.VISIBLE) & block.tgt.has(Trait.VISIBLE))


@config
class _Bounds:
    """What both rules on the length of a side have."""

    least: int
    most: int
    spares_given: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range."""
        _check(self.least, self.most)

    def outside(self, sizes: NDArray[np.int64]) -> Mask:
        """Tell which sizes, `[rows]`, are too small or too large."""
        return np.asarray((sizes < self.least) | (sizes > self.most))


@config
class Chars(_Bounds):
    """Reject a pair with too few or too many characters on a side."""

    rule: Literal["chars"]

    def objects(self, block: Block) -> Mask:
        """Compare the characters of both sides, white space included."""
        return self.outside(block.src.lengths) | self.outside(block.tgt.lengths)


@config
class Words(_Bounds):
    """Reject a pair with too few or too many words on a side.

    White space parts words; each letter of Han, kana and Thai counts as a word.
    """

    rule: Literal["words"]

    def objects(self, block: Block) -> Mask:
        """Compare the words of both sides."""
        return self.outside(block.src.words) | self.outside(block.tgt.words)


@config
class Ratio:
    """Reject a pair whose target is too short or too long for its source.

    Sizes are letters and digits, where a Han character counts as 3, and kana and Hangul as 2, and 3
    more on either side, since single words vary most. So a good pair of Chinese and English has a
    ratio about 1, either way round.
    """

    rule: Literal["ratio"]
    least: float
    most: float
    spares_given: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range."""
        _check(self.least, self.most)

    def objects(self, block: Block) -> Mask:
        """Compare the sizes."""
        src, tgt = size(block.src) + _MARGIN, size(block.tgt) + _MARGIN
        return (tgt < self.least * src) | (tgt > self.most * src)


def size(side: Side) -> NDArray[np.int64]:
    """Give the size of each text, in letters of an alphabet."""
    return np.asarray(side.counts @ SIZES)
