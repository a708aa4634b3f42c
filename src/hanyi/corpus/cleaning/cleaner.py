"""The rules of a list, applied to blocks in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hanyi.corpus.cleaning.blocks import Block, Mask, Side
from hanyi.corpus.languages import Languages

SIDES = ("src", "tgt")
KEPT = -1


class Repair(Protocol):
    """A rule that changes one side of a row."""

    rule: str

    def suspects(self, side: Side) -> Mask:
        """Tell which rows `apply` may change: yes for nothing is allowed, no for a change not."""

    def apply(self, text: str) -> str:
        """Repair a text."""


class Filter(Protocol):
    """A rule that rejects rows; `spares_given` keeps it off given valid and test rows."""

    rule: str
    spares_given: bool

    def objects(self, block: Block) -> Mask:
        """Tell which rows are to be rejected."""


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


def is_repair(rule: Repair | Filter) -> bool:
    """Tell whether a rule changes rows rather than rejects them."""
    return hasattr(rule, "apply")


def is_tag(rule: Repair | Filter) -> bool:
    """Tell whether a repair looks at both sides: it offers `tags`, which gives new sources."""
    return hasattr(rule, "tags")


def rule_names(rules: Sequence[Repair | Filter]) -> list[str]:
    """Give each rule of a list a name of its own: chars, chars_2."""
    names: list[str] = []
    for rule in rules:
        times = 1 + sum(other.rule == rule.rule for other in rules[: len(names)])
        names.append(rule.rule if times == 1 else f"{rule.rule}_{times}")
    return names


class Cleaner:
    """Applies a list of rules to blocks; it may be shared by threads."""

    def __init__(self, rules: Sequence[Repair | Filter], languages: Languages) -> None:
        self._languages = languages
        # Neighbouring repairs go together: a row that one of them suspects passes through all.
        self._steps = [
            (repairs, list(group))
            for (repairs, _), group in groupby(
                enumerate(rules), key=lambda item: (is_repair(item[1]), is_tag(item[1]))
            )
        ]

    def clean(self, src: pa.StringArray, tgt: pa.StringArray, *, given: bool) -> Cleaned:
        """Apply every rule.

        `given` rows are of valid and test files: their source is repaired, as the input of a user
        will be, their reference stays as it is, and most filters spare them.
        """
        sides = {"src": Side(src), "tgt": Side(tgt)}
        rejected = np.full(len(src), KEPT, np.int16)
        repaired: list[Repaired] = []
        for repairs, rules in self._steps:
            if is_tag(rules[0][1]):
                block = Block(sides["src"], sides["tgt"], self._languages)
                rows, texts = rules[0][1].tags(block)  # type: ignore[union-attr]
                if len(rows):
                    before = sides["src"].strings(rows)
                    repaired.append(Repaired(rules[0][0], "src", rows, before, texts))
                sides["src"] = sides["src"].replaced(rows, texts)
                continue
            if repairs:
                for name in SIDES[:1] if given else SIDES:
                    sides[name], found = _repair(sides[name], name, rules)  # type: ignore[arg-type]
                    repaired += found
                continue
            block = Block(sides["src"], sides["tgt"], self._languages)
            for number, rule in rules:
                if given and rule.spares_given:  # type: ignore[union-attr]
                    continue
                objects = rule.objects(block)  # type: ignore[union-attr]
                rejected[objects & (rejected == KEPT)] = number
        return Cleaned(sides["src"].text, sides["tgt"].text, rejected, repaired)


def _repair(
    side: Side, name: str, rules: Sequence[tuple[int, Repair]]
) -> tuple[Side, list[Repaired]]:
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
