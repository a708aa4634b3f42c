"""The funnel: how many rows were read, rejected for each reason, and kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from hanyi.corpus.cleaning import FILTERS
from hanyi.corpus.formats import REASONS as READ_REASONS
from hanyi.corpus.pairs import SPLITS

REASONS = (*READ_REASONS, *FILTERS, "duplicate", "leak")
"""Every reason for which a row can be rejected, in the order in which they are looked for."""

HEAVY_SHARE = 0.2


class Funnel:
    """Counts of rows by corpus and role of their file, and of kept rows by corpus and split."""

    def __init__(self) -> None:
        self.read: Counter[tuple[str, str]] = Counter()
        self.rejected: Counter[tuple[str, str, str]] = Counter()
        self.kept: Counter[tuple[str, str]] = Counter()

    def reason(self, name: str) -> int:
        """Count the rows rejected for a reason."""
        return sum(count for key, count in self.rejected.items() if key[2] == name)

    def split(self, name: str) -> int:
        """Count the rows of a split."""
        return sum(count for key, count in self.kept.items() if key[1] == name)

    def metrics(self) -> dict[str, Any]:
        """Give the contents of `metrics/prepare.json`; every reason is there, zeros too."""
        corpora = dict.fromkeys(corpus for corpus, _ in self.read)
        return {
            "rows": {
                "read": self.read.total(),
                "kept": self.kept.total(),
                "rejected": self.rejected.total(),
            },
            "rejected": {name: self.reason(name) for name in REASONS},
            "splits": {name: self.split(name) for name in SPLITS},
            "corpora": {
                corpus: {split: self.kept[corpus, split] for split in SPLITS} for corpus in corpora
            },
        }

    def reasons(self) -> str:
        """List the reasons that occurred, the frequent ones first."""
        counts = Counter({name: self.reason(name) for name in REASONS})
        return ", ".join(f"{name} {count}" for name, count in counts.most_common() if count)

    def heavy(self) -> list[str]:
        """List the reasons that took more than a fifth of the rows: a parameter may be wrong."""
        read = self.read.total()
        shares = {name: self.reason(name) / max(read, 1) for name in REASONS}
        return [
            f"{name} took {share:.0%} of all rows"
            for name, share in shares.items()
            if share > HEAVY_SHARE
        ]

    def table(self) -> list[str]:
        """Give the funnel as lines of text: one for each file, then one for each corpus."""
        files = [
            [corpus, role, read, *counts, read - sum(counts)]
            for (corpus, role), read in self.read.items()
            for counts in [[self.rejected[corpus, role, name] for name in REASONS]]
        ]
        totals = [sum(column) for column in zip(*(row[2:] for row in files), strict=True)]
        corpora = [
            [corpus, *counts.values()] for corpus, counts in self.metrics()["corpora"].items()
        ]
        splits = [self.split(name) for name in SPLITS]
        return [
            *_aligned(
                ["corpus", "role", "read", *REASONS, "kept"], [*files, ["total", "", *totals]]
            ),
            "",
            *_aligned(["corpus", *SPLITS], [*corpora, ["total", *splits]]),
        ]


def _aligned(head: list[str], rows: Iterable[list[Any]]) -> list[str]:
    cells = [head, *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if cell.isdecimal() or cell in head[2:] else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]
