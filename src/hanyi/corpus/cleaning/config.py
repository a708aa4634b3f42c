"""The `prepare` section of params.yaml."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from hanyi.corpus.cleaning.rules import REPAIRS, Rule
from hanyi.params import at_least, config


@config
class SplitConfig:
    """Rows to split off from each corpus that has no file for them."""

    valid: int
    test: int
    seed: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        at_least("valid", self.valid, 0)
        at_least("test", self.test, 0)


@config
class LeaksConfig:
    """How near a sentence of train may come to one of valid or test.

    `near` is the share of n-grams in common from which on two sentences count as the same; null
    takes only those that are the same but for case, width, punctuation and white space.
    """

    near: float | None

    def __post_init__(self) -> None:
        """Check the range."""
        _check_share("near", self.near)


@config
class PrepareConfig:
    """How rows are repaired, rejected and split."""

    rules: tuple[Rule, ...]
    duplicates: Literal["exact", "folded", "none"]
    near_duplicates: float | None
    leaks: LeaksConfig
    split: SplitConfig

    def __post_init__(self) -> None:
        """Check what the rules are to each other, and the ranges."""
        _check_share("near_duplicates", self.near_duplicates)
        for number, rule in enumerate(self.rules):
            if rule in self.rules[:number]:
                raise ValueError(
                    f"rules.{number} ({rule.rule}) is the same as rules.{self.rules.index(rule)}"
                )
        names = [rule.rule for rule in self.rules]
        if "swapped" in names and "script" in names[: names.index("swapped")]:
            raise ValueError("swapped must stand before script, which would leave it nothing")


def repairer(rules: tuple[Rule, ...]) -> Callable[[str], str]:
    """Give the function that applies all repairs of a list to one text, in their order."""
    applies = [rule.apply for rule in rules if rule.rule in REPAIRS]  # type: ignore[union-attr]

    def repaired(text: str) -> str:
        for apply in applies:
            text = apply(text)
        return text

    return repaired


def _check_share(name: str, share: float | None) -> None:
    if share is not None and not 0 < share <= 1:
        raise ValueError(f"{name} must be null or above 0 and at most 1, got {share}")
