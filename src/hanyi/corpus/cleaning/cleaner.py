"""The rules of a list, applied to blocks in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hanyi.corpus.cleaning.blocks import Block, Side
from hanyi.corpus.cleaning.rules import REPAIRS, Rule
from hanyi.corpus.pairs import SIDES
from hanyi.languages import Languages

KEPT = -1
SLICE_ROWS = 8192
"""Rows looked at together: with more, what is known of their characters leaves the caches."""
NO_TEXT = pa.array([], pa.string())


@dataclass(frozen=True)
class Repaired:
    """The rows of a block that a repair has changed on one side."""

    rule: int
    side: str
    rows: NDArray[np.int64]
    before: list[str]
    after: list[str]


@dataclass
class Cleaned:
    """A block after all rules: `rejected` is the number of the first rule that objects, or KEPT."""

    src: pa.StringArray
    tgt: pa.StringArray
    rejected: NDArray[np.int16]
    repaired: list[Repaired] = field(default_factory=list)


def kind_of(rule: Rule) -> str:
    """Tell how a rule is applied: a tag looks at both sides, a repair at one, a filter rejects."""
    if hasattr(rule, "tags"):
        return "tag"
    return "repair" if rule.rule in REPAIRS else "filter"


def rule_names(rules: Sequence[Rule]) -> list[str]:
    """Give each rule of a list a name of its own: chars, chars_2."""
    names: list[str] = []
    for rule in rules:
        times = 1 + sum(other.rule == rule.rule for other in rules[: len(names)])
        names.append(rule.rule if times == 1 else f"{rule.rule}_{times}")
    return names


class Cleaner:
    """Applies a list of rules to blocks; it may be shared by threads."""

    def __init__(self, rules: Sequence[Rule], languages: Languages) -> None:
        self._languages = languages
        # Neighbouring repairs go together: a row that one of them suspects passes through all.
        self._steps: list[tuple[str, list[tuple[int, Any]]]] = [
            (kind, list(group))
            for kind, group in groupby(enumerate(rules), key=lambda item: kind_of(item[1]))
        ]

    def clean(self, src: pa.StringArray, tgt: pa.StringArray, *, given: bool) -> Cleaned:
        """Apply every rule to the rows of a block, a slice at a time.

        `given` rows are of valid and test files: their source is repaired, as the input of a user
        will be, their reference stays as it is, and most filters spare them.
        """
        slices = [
            self._clean(src.slice(first, SLICE_ROWS), tgt.slice(first, SLICE_ROWS), given, first)
            for first in range(0, len(src), SLICE_ROWS)
        ]
        if len(slices) == 1:
            return slices[0]
        return Cleaned(
            pa.concat_arrays([NO_TEXT, *(one.src for one in slices)]),
            pa.concat_arrays([NO_TEXT, *(one.tgt for one in slices)]),
            np.concatenate([np.empty(0, np.int16), *(one.rejected for one in slices)]),
            [change for one in slices for change in one.repaired],
        )

    def _clean(self, src: pa.StringArray, tgt: pa.StringArray, given: bool, first: int) -> Cleaned:
        block = Block(Side(src), Side(tgt), self._languages)
        rejected = np.full(len(src), KEPT, np.int16)
        repaired: list[Repaired] = []
        for kind, rules in self._steps:
            if kind == "filter":
                for number, rule in rules:
                    if not (given and rule.spares_given):
                        rejected[rule.objects(block) & (rejected == KEPT)] = number
                continue
            if kind == "tag":
                tagged, found = _tag(block, rules)
                block = replace(block, src=tagged)
                repaired += found
                continue
            for name in SIDES[:1] if given else SIDES:
                side, found = _repair(block.side(name), name, rules)
                block = replace(block, src=side) if name == "src" else replace(block, tgt=side)
                repaired += found
        moved = [replace(change, rows=change.rows + first) for change in repaired]
        return Cleaned(block.src.text, block.tgt.text, rejected, moved)


def _tag(block: Block, rules: Sequence[tuple[int, Any]]) -> tuple[Side, list[Repaired]]:
    """Change sources by what both sides are."""
    side, found = block.src, []
    for number, rule in rules:
        rows, texts = rule.tags(block)
        if len(rows):
            found.append(Repaired(number, "src", rows, side.strings(rows), texts))
            side = side.replaced(rows, texts)
    return side, found


def _repair(side: Side, name: str, rules: Sequence[tuple[int, Any]]) -> tuple[Side, list[Repaired]]:
    """Repair one side, text by text where a rule suspects something, all others untouched.

    A repair may make work for a later one that saw nothing to do in the original, so a text that
    has changed goes through all that follow.
    """
    suspects = np.stack([rule.suspects(side) for _, rule in rules])
    rows = np.flatnonzero(suspects.any(axis=0))
    if not len(rows):
        return side, []
    applies: list[Callable[[str], str]] = [rule.apply for _, rule in rules]
    changes: list[list[tuple[int, str, str]]] = [[] for _ in rules]
    changed, texts = [], []
    asked = suspects[:, rows].T.tolist()
    for row, original, wanted in zip(rows.tolist(), side.strings(rows), asked, strict=True):
        text = original
        for place, apply in enumerate(applies):
            if wanted[place] or text is not original:
                new = apply(text)
                if new != text:
                    changes[place].append((row, text, new))
                    text = new
        if text is not original:
            changed.append(row)
            texts.append(text)
    repaired = [
        Repaired(number, name, np.array(places), list(before), list(after))
        for (number, _), found in zip(rules, changes, strict=True)
        if found
        for places, before, after in [zip(*found, strict=True)]
    ]
    return side.replaced(np.array(changed, np.int64), texts), repaired
