"""What an engine is given and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hanyi.decoding.config import SearchConfig
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.sentences import Sentence, Wish
from hanyi.model.processes import ALONE, Processes

Report = Callable[[int], object]
"""Hears after each batch how many jobs are done."""


@dataclass(frozen=True, slots=True)
class Job:
    """One source to translate."""

    source: Sequence[int]  # token ids without specials
    wish: Wish = field(default_factory=Wish)
    number: int = 0  # what is drawn for it depends on this

    def sentence(self, config: SearchConfig) -> Sentence:
        """Give the bounds of its translation, which leave room for the prefix at least."""
        tokens = len(self.source)
        limit = max(config.limit(tokens), len(self.wish.prefix) + 1)
        return Sentence(tokens + 1, limit, config.least(tokens), self.wish, self.number)


class Engine(Protocol):
    """What translates token ids into token ids."""

    def translate(
        self,
        jobs: Sequence[Job],
        config: SearchConfig,
        *,
        report: Report | None = None,
        processes: Processes = ALONE,
    ) -> list[list[Hypothesis]]:
        """Give for each job at most `n_best` hypotheses, best first, and at least one.

        An empty source has one translation, the empty one, with log probability 0. Several
        processes share the jobs, and all get all translations. Raises `ParamsError` for an option
        that the engine has not.
        """
