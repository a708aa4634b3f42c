"""What a run is held against: another system's translations, and its own run where it has one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hanyi.report.run import Run
from hanyi.scoring.significance import Comparison

Compared = tuple[str, int, str, Comparison]
"""A corpus or `all`, its rows, the name of a metric, and what a paired test says of both."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """Another system on the same test split."""

    name: str
    texts: Sequence[str]
    """Its translations, in the order of the rows."""
    compared: Sequence[Compared]
    run: Run
    """Its run, in which all is lacking when there are only translations."""
