"""Rules for Chinese: spaces between words, simplified and traditional characters."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
import opencc
from numpy.typing import NDArray

from hanyi.corpus.cleaning.blocks import Block, Mask, Side
from hanyi.corpus.cleaning.characters import Class, Table, classify
from hanyi.corpus.cleaning.scripts import check_share
from hanyi.languages import scripts
from hanyi.params import config

_KINDS = {
    **dict.fromkeys((Class.HAN, Class.HIRAGANA, Class.KATAKANA), "H"),
    **dict.fromkeys((Class.SPACE, Class.WHITE), " "),
}
_MARKS = frozenset("“”‘’—…·")  # used by Chinese too, besides the marks of its own


class _Shape(dict[int, str]):
    """Translation table: H for Han and kana, P for their punctuation, space, x for all others."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        wide = "\u3000" <= char <= "\u303f" or "\uff00" <= char <= "\uffef"
        if char in _MARKS or (wide and unicodedata.category(char)[0] == "P"):
            kind = "P"
        else:
            kind = _KINDS.get(classify(char), "x")
        self[code] = kind
        return kind


_SHAPE = _Shape()
_NEIGHBOURS = re.compile(r"H(?=( *)H)")
_PARTED = re.compile(r"(?<=[HP]) +(?=[HP])")


@config
class Unsegment:
    """Take out the spaces between the words of segmented Chinese.

    A text is segmented when spaces part at least `share` of its neighbouring Han characters or
    kana; then white space goes from between Han, kana and their punctuation. Spaces beside other
    scripts and digits stay.
    """

    rule: Literal["unsegment"]
    share: float

    def __post_init__(self) -> None:
        """Check the range."""
        check_share(self.share)

    def suspects(self, side: Side) -> Mask:
        """Count spaces after and before Han: no more neighbours are parted than the fewer of both.

        The share grows with the number of those that are parted, so this number is an upper bound.
        """
        classes = side.classes
        han = classes <= Class.KATAKANA
        white = (classes == Class.SPACE) | (classes == Class.WHITE)
        after = np.flatnonzero(han[:-1] & white[1:])
        before = np.flatnonzero(white[:-1] & han[1:])
        if not len(after) or not len(before):
            return np.zeros(side.rows, np.bool_)
        parted = np.minimum(
            np.bincount(side.row_of[after], minlength=side.rows),
            np.bincount(side.row_of[before + 1], minlength=side.rows),
        )
        close = np.zeros(len(han), np.uint8)
        close[1:] = han[:-1] & han[1:]
        starts = side.starts[:-1][side.lengths > 0]
        close[starts] = 0
        joined = np.zeros(side.rows, np.int64)
        joined[side.lengths > 0] = np.add.reduceat(close, starts, dtype=np.int64)
        return np.asarray((parted > 0) & (parted >= self.share * (joined + parted)))

    def apply(self, text: str) -> str:
        """Take out the spaces of a segmented text."""
        shape = text.translate(_SHAPE)
        gaps = _NEIGHBOURS.findall(shape)
        parted = sum(map(bool, gaps))
        if not parted or parted < self.share * len(gaps):
            return text
        pieces, end = [], 0
        for gap in _PARTED.finditer(shape):
            pieces.append(text[end : gap.start()])
            end = gap.end()
        return "".join([*pieces, text[end:]])


@lru_cache(maxsize=2)
def _converter(name: str) -> opencc.OpenCC:
    """Give the converter of this process: its tables take a moment to load and never change."""
    return opencc.OpenCC(name)


_CONVERTERS = {"simplified": "t2s", "traditional": "s2t"}


@config
class Han:
    """Write Chinese in simplified or traditional characters (OpenCC).

    Text with kana is Japanese and stays as it is.
    """

    rule: Literal["han"]
    variant: Literal["simplified", "traditional"]

    def suspects(self, side: Side) -> Mask:
        """Find texts with Han and without kana: phrases decide about characters that look safe."""
        classes = side.classes
        kana = (classes == Class.HIRAGANA) | (classes == Class.KATAKANA)
        return side.any_of(classes == Class.HAN) & ~side.any_of(kana)

    def apply(self, text: str) -> str:
        """Convert a text."""
        if any(classify(char) in {Class.HIRAGANA, Class.KATAKANA} for char in text):
            return text
        converted: str = _converter(_CONVERTERS[self.variant]).convert(text)
        return converted


SIMPLIFIED, TRADITIONAL = 1, 2


def variant_of(char: str) -> int:
    """Tell characters that only one variant of Chinese has: SIMPLIFIED, TRADITIONAL, or 0.

    A character that the other variant converts, but also has in its old character set (GB 2312 of
    the mainland, Big5 of Taiwan), such as 后 or 里, belongs to both.
    """
    simple, traditional = _has(char, "gb2312"), _has(char, "big5")
    if simple == traditional:
        return 0
    other = _converter("s2t" if simple else "t2s").convert(char)
    if other == char:
        return 0
    return SIMPLIFIED if simple else TRADITIONAL


def _has(char: str, encoding: str) -> bool:
    try:
        char.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


_VARIANTS = Table(variant_of)


def variants(side: Side) -> tuple[Mask, Mask]:
    """Tell which rows have characters of simplified, and of traditional Chinese alone."""
    found = np.zeros(len(side.codes), np.uint8)
    han = np.flatnonzero(side.classes == Class.HAN)
    found[han] = _VARIANTS[side.codes[han]]
    return side.any_of(found == SIMPLIFIED), side.any_of(found == TRADITIONAL)


@config
class HanTag:
    """Write `<hans>` or `<hant>` before the source of a pair whose target is in Chinese.

    The tag says which characters the target has, where it has some of one variant alone, so that a
    model learns both and writes what it is asked for. Whoever uses the model writes the tag.
    """

    rule: Literal["han_tag"]

    def suspects(self, side: Side) -> Mask:
        """Find nothing: a side alone does not tell."""
        return np.zeros(side.rows, np.bool_)

    def apply(self, text: str) -> str:
        """Leave a text as it is: its reader knows what is wanted."""
        return text

    def tags(self, block: Block) -> tuple[NDArray[np.int64], list[str]]:
        """Give the rows whose source gets a tag, in ascending order, and what follows from it."""
        if scripts(block.languages.tgt) != ("Han",):
            return np.zeros(0, np.int64), []
        simplified, traditional = variants(block.tgt)
        rows = np.flatnonzero(simplified != traditional)
        names = np.where(simplified[rows], "<hans> ", "<hant> ").tolist()
        texts = block.src.strings(rows)
        return rows, [name + text for name, text in zip(names, texts, strict=True)]


@config
class MixedHan:
    """Reject a pair whose Chinese side mixes simplified and traditional characters."""

    rule: Literal["mixed_han"]
    spares_given: ClassVar[bool] = True

    def objects(self, block: Block) -> Mask:
        """Find characters of both kinds on a side that is in Chinese."""
        found = np.zeros(block.src.rows, np.bool_)
        languages = block.languages
        for side, language in ((block.src, languages.src), (block.tgt, languages.tgt)):
            if scripts(language) == ("Han",):
                simplified, traditional = variants(side)
                found |= simplified & traditional
        return found
