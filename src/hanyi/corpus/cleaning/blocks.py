"""Blocks of sentence pairs, and what the rules ask of them, computed once for all rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hanyi.corpus.cleaning.characters import CLASSES, LETTERS, UNSPACED, Class
from hanyi.corpus.cleaning.traits import TRAITS, Trait
from hanyi.corpus.keys import bytes_of, code_points
from hanyi.languages import Languages

Mask = NDArray[np.bool_]

_UNSPACED = np.isin(np.arange(len(Class)), UNSPACED)
_OTHER = ~np.isin(np.arange(len(Class)), [*UNSPACED, Class.SPACE, Class.WHITE])


class Side:
    """One side of a block: its texts, without nulls, and their features.

    Arrays are `[rows]` or `[chars]`, all characters of all rows one after the other.
    """

    def __init__(self, text: pa.StringArray) -> None:
        self.text = text
        self.rows = len(text)

    @cached_property
    def codes(self) -> NDArray[np.uint32]:
        """Code points, `[chars]`."""
        return code_points(bytes(bytes_of(self.text)[0]))

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Characters of each row, `[rows]`."""
        return np.asarray(pc.utf8_length(self.text), np.int64)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each row begins in `codes`, and the end, `[rows + 1]`."""
        starts = np.zeros(self.rows + 1, np.int64)
        np.cumsum(self.lengths, out=starts[1:])
        return starts

    @cached_property
    def row_of(self) -> NDArray[np.int64]:
        """The row of each character, `[chars]`."""
        return np.repeat(np.arange(self.rows), self.lengths)

    @cached_property
    def classes(self) -> NDArray[np.uint8]:
        """The class of each character, `[chars]`."""
        return CLASSES[self.codes]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Characters of each class, `[rows, classes]`."""
        width = len(Class)
        places = self.row_of * width
        places += self.classes
        return np.bincount(places, minlength=self.rows * width).reshape(-1, width)

    @cached_property
    def letters(self) -> NDArray[np.int64]:
        """Letters of all scripts, `[rows]`."""
        return np.asarray(self.counts[:, LETTERS].sum(axis=1))

    @cached_property
    def words(self) -> NDArray[np.int64]:
        """Words, `[rows]`: runs that white space parts; an unspaced script's letters, each one.

        A run with letters of both kinds counts as its unspaced letters and one more.
        """
        unspaced, other = _UNSPACED.take(self.classes), _OTHER.take(self.classes)
        begins = other.copy()
        begins[1:] &= ~other[:-1]
        first = self.starts[:-1][self.lengths > 0]
        begins[first] = other[first]
        return self.count_of(begins | unspaced)

    @cached_property
    def traits(self) -> NDArray[np.uint16]:
        """All traits that characters of a row have, `[rows]`."""
        found = np.zeros(self.rows, np.uint16)
        full = self.lengths > 0
        if full.any():
            found[full] = np.bitwise_or.reduceat(TRAITS[self.codes], self.starts[:-1][full])
        return found

    def has(self, traits: Trait) -> Mask:
        """Tell for each row whether it has a character with one of some traits."""
        found: Mask = (self.traits & np.uint16(traits)) != 0
        return found

    def count_of(self, chars: Mask) -> NDArray[np.int64]:
        """Count the characters of a mask `[chars]` in each row."""
        if not chars.any():
            return np.zeros(self.rows, np.int64)
        return np.bincount(self.row_of[chars], minlength=self.rows)

    def any_of(self, chars: Mask) -> Mask:
        """Tell for each row whether it has a character of a mask `[chars]`."""
        found = np.zeros(self.rows, np.bool_)
        found[self.row_of[chars]] = True
        return found

    def strings(self, rows: NDArray[np.int64]) -> list[str]:
        """Give the texts of chosen rows."""
        texts: list[str] = self.text.take(pa.array(rows)).to_pylist()
        return texts

    def replaced(self, rows: NDArray[np.int64], texts: list[str]) -> Side:
        """Give a side with other texts in some rows, given in ascending order.

        Where these are few, the features that are known are patched instead of computed again.
        """
        if not len(rows):
            return self
        mask = np.zeros(self.rows, np.bool_)
        mask[rows] = True
        new: Any = pc.replace_with_mask(self.text, pa.array(mask), pa.array(texts))
        side = Side(new)
        if len(rows) * 16 <= self.rows:
            self._patch(side, rows, Side(pa.array(texts)))
        return side

    def _patch(self, side: Side, rows: NDArray[np.int64], part: Side) -> None:
        known = self.__dict__
        for name in ("lengths", "traits", "counts"):
            if name in known:
                values = known[name].copy()
                values[rows] = getattr(part, name)
                side.__dict__[name] = values
        begins, ends = self.starts[rows], self.starts[rows + 1]
        for name in ("codes", "classes"):
            if name in known:
                fresh = np.split(getattr(part, name), part.starts[1:-1])
                left = np.r_[0, ends[:-1]]
                kept = [known[name][one:other] for one, other in zip(left, begins, strict=True)]
                pieces = [piece for both in zip(kept, fresh, strict=True) for piece in both]
                side.__dict__[name] = np.concatenate([*pieces, known[name][ends[-1] :]])


@dataclass(frozen=True)
class Block:
    """Rows of sentence pairs and the languages of their sides."""

    src: Side
    tgt: Side
    languages: Languages

    def side(self, name: str) -> Side:
        """Give the side called src or tgt."""
        return self.src if name == "src" else self.tgt

    def confirmed(self, suspects: Mask, test: Callable[[str, str], bool]) -> Mask:
        """Tell which of the suspected pairs pass a test of their two texts."""
        found = np.zeros(self.src.rows, np.bool_)
        rows = np.flatnonzero(suspects)
        found[rows] = [
            test(src, tgt)
            for src, tgt in zip(self.src.strings(rows), self.tgt.strings(rows), strict=True)
        ]
        return found
