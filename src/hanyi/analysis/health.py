"""What may be wrong with a translation, told from the look of it, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hanyi.analysis.numerals import in_digits, values
from hanyi.analysis.words import words
from hanyi.corpus.cleaning.blocks import Side
from hanyi.corpus.cleaning.characters import SCRIPTS
from hanyi.corpus.cleaning.lengths import size
from hanyi.corpus.keys import fold
from hanyi.languages import Languages, language, scripts
from hanyi.scoring.pairing import Pair
from hanyi.scoring.tokenized import SIGNS, shows

Mask = NDArray[np.bool_]

LONGEST_UNIT = 8
"""Words, or characters, of a unit that is looked for again right after itself."""
WORDS_IN_A_ROW = 3
CHARS_IN_A_ROW = 5
MARGIN = 10
"""Letters added to both sizes before they are compared: single words vary most."""
SHORT, LONG = 0.5, 2.0


@dataclass(frozen=True)
class Rows:
    """The rows of a test set by columns, and the languages of the pair."""

    pairs: Sequence[Pair]
    languages: Languages

    @cached_property
    def source(self) -> Side:
        """Give the sources."""
        return _side([pair.source for pair in self.pairs])

    @cached_property
    def reference(self) -> Side:
        """Give the references."""
        return _side([pair.reference for pair in self.pairs])

    @cached_property
    def hypothesis(self) -> Side:
        """Give the translations of the model."""
        return _side([pair.hypothesis for pair in self.pairs])

    def where(self, test: Callable[[Pair], bool]) -> Mask:
        """Try each row."""
        return np.array([test(pair) for pair in self.pairs], np.bool_)


def empty(rows: Rows) -> Mask:
    """Find translations without anything visible, where source and reference have something."""
    return rows.where(
        lambda pair: bool(
            not pair.hypothesis.strip() and pair.source.strip() and pair.reference.strip()
        )
    )


def cut(rows: Rows) -> Mask:
    """Find translations that ended at the largest length, without an end of their own."""
    return rows.where(lambda pair: not pair.finished)


def repetition(rows: Rows) -> Mask:
    """Find loops: up to 8 words 3 times in a row, or up to 8 characters 5 times.

    What source or reference repeat as often is no loop.
    """
    return rows.where(_loops)


def copied(rows: Rows) -> Mask:
    """Find sources given back: equal but for case, width and punctuation; the reference differs."""
    return rows.where(_is_copied)


def untranslated(rows: Rows) -> Mask:
    """Find more letters of the source's scripts than the reference has, Han in English say.

    Only scripts count that the target language is not written in.
    """
    foreign = [
        SCRIPTS[name]
        for name in scripts(rows.languages.src)
        if name not in scripts(rows.languages.tgt)
    ]
    found, allowed = (
        side.counts[:, foreign].sum(axis=1) for side in (rows.hypothesis, rows.reference)
    )
    return np.asarray(found > allowed)


def short(rows: Rows) -> Mask:
    """Find translations of less than half the size of the reference, or expected by the source."""
    return np.asarray(_ratios(rows).min(axis=0, initial=np.inf) < SHORT)


def long(rows: Rows) -> Mask:
    """Find translations over twice the size of the reference, or expected by the source."""
    return np.asarray(_ratios(rows).max(axis=0, initial=0) > LONG)


def numbers(rows: Rows) -> Mask:
    """Find numbers lost, which source and reference have, and numbers in digits made up.

    A number written in words is not known for one, in the source made-up numbers may come from it.
    """
    return rows.where(_other_numbers)


def tokenized(rows: Rows) -> Mask:
    """Find what a tokenizer leaves behind, such as spaces before marks, if the reference has none.

    Then the translation was not put together again, and scores suffer.
    """
    signs = [sign for sign in SIGNS if language(rows.languages.tgt) not in sign.never]
    return rows.where(
        lambda pair: any(
            shows(pair.hypothesis, sign) and not shows(pair.reference, sign) for sign in signs
        )
    )


FLAGS: dict[str, Callable[[Rows], Mask]] = {
    "empty": empty,
    "cut": cut,
    "repetition": repetition,
    "copied": copied,
    "untranslated": untranslated,
    "short": short,
    "long": long,
    "numbers": numbers,
    "tokenized": tokenized,
}
"""Each sign of trouble by its name in metrics/score.json and in the table of sentences."""

MEANINGS = {
    "empty": "nothing, though source and reference have something",
    "cut": "ended at the largest length, not by itself",
    "repetition": "a loop: words 3 times in a row, characters 5 times",
    "copied": "the source itself",
    "untranslated": "more letters of the source's script than the reference has",
    "short": "under half the size of the reference, or of what the source lets expect",
    "long": "over twice the size of the reference, or of what the source lets expect",
    "numbers": "lacks a number of source and reference, or has one of neither",
    "tokenized": "spaces before marks or between characters, @@, ▁: not put together again",
}


def check(rows: Rows) -> dict[str, Mask]:
    """Give for each flag the rows that have it, `[rows]`."""
    return {name: test(rows) for name, test in FLAGS.items()}


def most_in_a_row(units: Sequence[str], least: int, longest: int = LONGEST_UNIT) -> int:
    """Give how often a unit of up to `longest` items stands in a row, at most; under `least`, 1.

    A unit without a letter (dots, digits, lines) is no unit.
    """
    numbers_of: dict[str, int] = {}
    codes = np.array([numbers_of.setdefault(unit, len(numbers_of)) for unit in units], np.int64)
    letters = np.array([any(map(str.isalpha, unit)) for unit in units], np.bool_)
    most = 1
    for period in range(1, min(longest, len(codes) // least) + 1):
        same = codes[period:] == codes[:-period]
        edges = np.flatnonzero(np.diff(np.r_[False, same, False].astype(np.int8)))
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            times = (end - begin) // period + 1
            if times >= max(least, most + 1) and letters[begin : begin + period].any():
                most = times
    return most


def _side(texts: list[str]) -> Side:
    return Side(pa.array(texts, pa.string()))


def _loops(pair: Pair) -> bool:
    for units, least in ((words, WORDS_IN_A_ROW), (_chars, CHARS_IN_A_ROW)):
        found = most_in_a_row(units(pair.hypothesis), least)
        if found > 1 and found > max(
            most_in_a_row(units(text), 2) for text in (pair.source, pair.reference)
        ):
            return True
    return False


def _chars(text: str) -> list[str]:
    return list(text.casefold())


def _is_copied(pair: Pair) -> bool:
    hypothesis = fold(pair.hypothesis)
    return (
        any(map(str.isalpha, hypothesis))
        and hypothesis == fold(pair.source)
        and hypothesis != fold(pair.reference)
    )


def _other_numbers(pair: Pair) -> bool:
    ours = in_digits(pair.hypothesis)
    theirs, known = values(pair.source), values(pair.reference)
    made_up = ours - theirs - known
    lost = (theirs & in_digits(pair.reference)) - values(pair.hypothesis)
    return bool(made_up or lost)


def _ratios(rows: Rows) -> NDArray[np.float64]:
    """Compare sizes with the reference's and with what the source lets expect, `[2, rows]`.

    References are as long as they are, for their sources, by the median over the rows. Empty
    translations are another matter.
    """
    sources, references, hypotheses = (
        size(side) + MARGIN for side in (rows.source, rows.reference, rows.hypothesis)
    )
    usual = float(np.median(references / sources)) if len(sources) else 1.0
    found = np.stack([hypotheses / references, hypotheses / (sources * usual)])
    found[:, hypotheses == MARGIN] = 1.0
    return found
