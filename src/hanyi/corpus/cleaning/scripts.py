"""Filters by the scripts that a language is written in."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from hanyi.corpus.cleaning.blocks import Block, Mask, Side
from hanyi.corpus.cleaning.characters import SCRIPTS
from hanyi.corpus.languages import scripts
from hanyi.params import config


def _check(share: float) -> None:
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, got {share}")


@config
class Script:
    """Reject a pair with a side whose letters are mostly of scripts that are not its language's.

    A side without letters is not objected to.
    """

    rule: Literal["script"]
    share: float
    spares_given: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range."""
        _check(self.share)

    def objects(self, block: Block) -> Mask:
        """Find sides with less than `share` of their letters in their language's scripts."""
        languages = block.languages
        return _foreign(block.src, languages.src, self.share) | _foreign(
            block.tgt, languages.tgt, self.share
        )


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
        _check(self.share)

    def objects(self, block: Block) -> Mask:
        """Find pairs of which both sides fail rule `script`, and would pass it the other way."""
        src, tgt, languages = block.src, block.tgt, block.languages
        return (
            _foreign(src, languages.src, self.share)
            & _foreign(tgt, languages.tgt, self.share)
            & ~_foreign(src, languages.tgt, self.share)
            & ~_foreign(tgt, languages.src, self.share)
        )


def _foreign(side: Side, language: str, share: float) -> Mask:
    own = side.counts[:, [SCRIPTS[name] for name in scripts(language)]].sum(axis=1)
    return np.asarray(own < share * side.letters)
