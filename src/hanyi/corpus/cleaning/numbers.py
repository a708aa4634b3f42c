"""A filter for numbers that the other side does not have."""

from __future__ import annotations

import re
import unicodedata
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hanyi.corpus.cleaning.blocks import Block, Mask, Side
from hanyi.corpus.cleaning.characters import Class, Table
from hanyi.params import at_least, config

_DIGITS = re.compile(r"\d+")
# What may stand between groups of three digits; in a list of numbers it parts them instead.
_SEPARATORS = (
    re.compile(r"(?<=\d) ?[,，] ?(?=\d{3}(?!\d))"),
    re.compile(r"(?<=\d)[ \xa0\u2009\u202f](?=\d{3}(?!\d))"),
)
_IN_WORDS = re.compile(
    r"""\b(?:ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|dozens?)\b
    | \b(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)\b
    | \b(?:hundred|thousand|million|billion|trillion|centur(?:y|ies)|decades?)  # 10 million, 1000万
    | \d\ ?(?:k|m|bn|mn|tn)\b | \d0['’]?\ ?s\b                                  # 50k, the 1940s
    | [十百千万亿兆萬億] | 世[纪紀] | 年代 | [零〇一二三四五六七八九两]{2}
    """,
    re.VERBOSE | re.IGNORECASE,
)


@config
class Numbers:
    """Reject a pair whose sides write different numbers in digits, however often each.

    Numbers with fewer than `digits` digits, leading zeros aside, are not compared: one side may
    write 10月 and the other October. Nor are pairs in which a number may stand in words: decades,
    centuries, 1000万 beside 10 million, fifty beside 50.
    """

    rule: Literal["numbers"]
    digits: int
    spares_given: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the range."""
        at_least("digits", self.digits, 1)

    def objects(self, block: Block) -> Mask:
        """Compare sums of hashes of all numbers, and closely the rows in which they differ."""
        suspects = np.asarray(_sums(block.src, self.digits) != _sums(block.tgt, self.digits))
        return block.confirmed(suspects, lambda src, tgt: differ(src, tgt, self.digits))


def differ(src: str, tgt: str, digits: int) -> bool:
    """Tell whether no reading of the separators gives both sides the same numbers."""
    readings = _readings(tgt, digits)
    return (
        all(reading not in readings for reading in _readings(src, digits))
        and _IN_WORDS.search(src) is None
        and _IN_WORDS.search(tgt) is None
    )


def _readings(text: str, digits: int) -> list[set[str]]:
    texts = [text, *(separator.sub("", text) for separator in _SEPARATORS)]
    return [
        {
            number
            for run in _DIGITS.findall(each)
            if len(number := _plain(run).lstrip("0")) >= digits
        }
        for each in texts
    ]


def _plain(run: str) -> str:
    if run.isascii():
        return run
    return "".join(str(unicodedata.decimal(char)) for char in run)


_VALUES = Table(lambda char: unicodedata.decimal(char, 0))
_BASE, _MIX = 0x100000001B3, 0x9E3779B97F4A7C15


def _sums(side: Side, digits: int) -> NDArray[np.uint64]:
    """Give for each row a sum of hashes of its runs of digits, in whatever order they stand.

    Left out are runs that cannot be a number of `digits` digits, nor a part of one.
    """
    sums = np.zeros(side.rows, np.uint64)
    at = np.flatnonzero(side.classes == Class.DIGIT)
    if not len(at):
        return sums
    rows = side.row_of[at]
    values = _VALUES[side.codes[at]].astype(np.uint64) + np.uint64(1)
    begins = np.flatnonzero(np.r_[True, (np.diff(at) != 1) | (np.diff(rows) != 0)])
    ends = np.r_[begins[1:], len(at)]
    sizes = ends - begins
    powers = np.r_[np.uint64(1), np.cumprod(np.full(sizes.max(), _BASE, np.uint64))]
    places = np.repeat(ends, sizes) - np.arange(len(at)) - 1
    hashes = np.add.reduceat(values * powers[places], begins) * np.uint64(_MIX)
    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(_MIX)

    gaps = at[begins[1:]] - at[ends[:-1] - 1]
    near = (gaps <= 4) & (rows[begins[1:]] == rows[ends[:-1] - 1])
    numbers = (sizes >= digits) | np.r_[near, False] | np.r_[False, near]
    begins, hashes = begins[numbers], hashes[numbers]
    if len(begins):
        at_row = rows[begins]
        firsts = np.flatnonzero(np.r_[True, np.diff(at_row) != 0])
        sums[at_row[firsts]] = np.add.reduceat(hashes, firsts)
    return sums
