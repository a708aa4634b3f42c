"""Filters by the scripts that a language is written in."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hanyi.corpus.cleaning.blocks import Block, Mask
from hanyi.corpus.cleaning.characters import LETTERS, SCRIPTS
from hanyi.corpus.cleaning.lengths import SIZES
from hanyi.languages import scripts
from hanyi.params import config


def check_share(share: float) -> None:
    """Raise `ValueError` for a share that is not above 0 and at most 1."""
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, got {share}")


@config
class Script:
    """Reject a pair with a side of which less than `share` is in the scripts of its language.

    Letters count by their size, as for rule `ratio` (a Han character is worth 3 Latin letters): so
    one share lets many Latin names stand in Chinese, and few Han characters in English. A side
    without letters is not objected to.
    """

    rule: Literal["script"]
    share: float
    spares_given: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range."""
        check_share(self.share)

    def objects(self, block: Block) -> Mask:
        """Find sides with less than `share` of their letters in their language's scripts."""
        languages = block.languages
        src = _foreign(block.src.counts, languages.src, self.share)
        return src | _foreign(block.tgt.counts, languages.tgt, self.share)


@config
class Swapped:
    """Reject a pair whose sides are each in the other's language, judged by their scripts.

    Many of them mean that the columns are the wrong way round.
    """

    rule: Literal["swapped"]
    share: float
    spares_given: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range."""
        check_share(self.share)

    def objects(self, block: Block) -> Mask:
        """Find pairs of which both sides fail rule `script`, and would pass it the other way."""
        src, tgt, languages = block.src.counts, block.tgt.counts, block.languages
        found = _foreign(src, languages.src, self.share)
        rows = np.flatnonzero(found)
        src, tgt = src[rows], tgt[rows]
        found[rows] = (
            _foreign(tgt, languages.tgt, self.share)
            & ~_foreign(src, languages.tgt, self.share)
            & ~_foreign(tgt, languages.src, self.share)
        )
        return found


def _foreign(counts: NDArray[np.int64], language: str, share: float) -> Mask:
    own = [SCRIPTS[name] for name in scripts(language)]
    letters, ours = np.zeros_like(SIZES), np.zeros_like(SIZES)
    letters[LETTERS] = SIZES[LETTERS]
    ours[own] = SIZES[own]
    return np.asarray(counts @ ours < share * (counts @ letters))
