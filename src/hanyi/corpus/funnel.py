"""The funnel: how many rows were read, repaired, rejected for each reason, and kept."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hanyi.corpus.formats import REASONS as FAULTS
from hanyi.corpus.pairs import SIDES, SPLITS
from hanyi.corpus.samples import MOST, Rejection, Repair, Smallest, change, excerpt
from hanyi.corpus.sizes import Sizes

COMPARISONS = ("duplicate", "near_duplicate", "leak", "near_leak")
"""Reasons that come from other rows, looked for after the rules."""

HEAVY_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the funnel, a fault of reading, a rule or a comparison with other rows.

    It took `taken` rows and left `left`, or it repaired that many texts of a side.
    """

    name: str
    repairs: bool
    taken: int
    left: int
    src: int
    tgt: int


class Funnel:
    """Counts of rows and samples of them, the same in whatever blocks the rows come.

    `rules` are the names of the rules in their order, of which `repairs` reject nothing.
    """

    def __init__(self, rules: Sequence[str], repairs: Iterable[str] = ()) -> None:
        self.read: Counter[tuple[str, str]] = Counter()
        """Rows by corpus and role."""
        self.rejected: Counter[tuple[str, str, str]] = Counter()
        """Rows by corpus, role and reason."""
        self.repaired: Counter[tuple[str, str]] = Counter()
        """Texts by rule and side."""
        self.kept: Counter[tuple[str, str]] = Counter()
        """Rows by corpus and split."""
        self.sizes = Sizes()
        """Characters of the rows kept."""
        self._names = tuple(dict.fromkeys((*FAULTS, *rules, *COMPARISONS)))
        self._repairs = set(repairs)
        self._rejections: defaultdict[str, Smallest[Rejection]] = defaultdict(
            partial(Smallest, MOST)
        )
        # A half for each side, so that the few texts of one are not lost among many of the other.
        self._changes: defaultdict[tuple[str, str], Smallest[Repair]] = defaultdict(
            partial(Smallest, MOST // len(SIDES))
        )

    def add_read(self, corpus: str, role: str, rows: int) -> None:
        """Count rows read."""
        self.read[corpus, role] += rows

    def add_repaired(
        self,
        rule: str,
        side: str,
        ids: NDArray[np.int64],
        before: Sequence[str],
        after: Sequence[str],
    ) -> None:
        """Count the rows whose text on this side a rule has changed, and look for samples."""
        self._check(rule)
        self._repairs.add(rule)
        self.repaired[rule, side] += len(ids)
        self._changes[rule, side].add(
            ids, lambda row: Repair(int(ids[row]), side, *change(before[row], after[row]))
        )

    def add_rejected(
        self, corpus: str, role: str, reason: str, ids: NDArray[np.int64], rows: pa.RecordBatch
    ) -> None:
        """Count rows of schema `tables.REJECTED`, all of one reason, and look for samples."""
        self._check(reason)
        self.rejected[corpus, role, reason] += rows.num_rows

        def sample(row: int) -> Rejection:
            file, line, src, tgt = (
                rows[name][row].as_py() for name in ("file", "line", "src", "tgt")
            )
            return Rejection(int(ids[row]), file, line, excerpt(src), excerpt(tgt))

        self._rejections[reason].add(ids, sample)

    def add_kept(self, corpus: str, split: str, rows: int) -> None:
        """Count rows kept."""
        self.kept[corpus, split] += rows

    def reason(self, name: str) -> int:
        """Count the rows rejected for a reason."""
        return sum(count for key, count in self.rejected.items() if key[2] == name)

    def split(self, name: str) -> int:
        """Count the rows of a split."""
        return sum(count for key, count in self.kept.items() if key[1] == name)

    def rejections(self, reason: str) -> list[Rejection]:
        """Give at most 20 of the rows rejected for a reason, in reading order."""
        return self._rejections[reason].items()

    def changes(self, rule: str) -> list[Repair]:
        """Give at most 20 of the texts changed by a rule, in reading order by side."""
        return [item for side in SIDES for item in self._changes[rule, side].items()]

    def steps(self) -> list[Step]:
        """Give the steps in order: faults of reading that occurred, all rules, comparisons."""
        steps = []
        left = self.read.total()
        for name in self._names:
            taken = self.reason(name)
            left -= taken
            sides = (self.repaired[name, side] for side in SIDES)
            if taken or name not in FAULTS:
                steps.append(Step(name, name in self._repairs, taken, left, *sides))
        return steps

    def metrics(self) -> dict[str, Any]:
        """Give the contents of `metrics/prepare.json`; every reason is there, zeros too.

        Raises `RuntimeError` when a row was lost on the way or came twice.
        """
        read, kept, rejected = self.read.total(), self.kept.total(), self.rejected.total()
        if read != kept + rejected:
            raise RuntimeError(f"{read} rows read, but {kept} kept and {rejected} rejected")
        return {
            "rows": {"read": read, "kept": kept, "rejected": rejected},
            "rejected": {name: self.reason(name) for name in self._reasons()},
            "repaired": {
                name: {side: self.repaired[name, side] for side in SIDES}
                for name in self._names
                if name in self._repairs
            },
            "splits": {name: self.split(name) for name in SPLITS},
            "corpora": {
                corpus: {split: self.kept[corpus, split] for split in SPLITS}
                for corpus in self._corpora()
            },
        }

    def reasons(self) -> str:
        """List the reasons that occurred, the frequent ones first."""
        counts = Counter({name: self.reason(name) for name in self._reasons()})
        return ", ".join(f"{name} {count:,}" for name, count in counts.most_common() if count)

    def heavy(self) -> list[str]:
        """List the reasons that took more than a fifth of all rows, or else of a corpus."""
        found = []
        for name in self._reasons():
            share = _share(self.reason(name), self.read.total())
            if share > HEAVY_SHARE:
                found.append(f"{name} took {share:.0%} of all rows")
                continue
            for corpus in self._corpora():
                share = _share(self._of(corpus, name), self._of(corpus))
                if share > HEAVY_SHARE:
                    found.append(f"{name} took {share:.0%} of the rows of {corpus}")
        return found

    def table(self) -> list[str]:
        """Give the funnel as lines of text: one for each step, then one for each corpus."""
        return [*_aligned(self._step_rows()), "", *_aligned(self._corpus_rows())]

    def _step_rows(self) -> list[list[str]]:
        read = self.read.total()
        rows = [
            ["step", "changed", "taken", "share", "left"],
            ["read", "", "", "", f"{read:,}"],
        ]
        for step in self.steps():
            if step.repairs and not step.taken:
                rows.append([step.name, changed(step), "", "", ""])
            else:
                counts = [f"{step.taken:,}", percent(step.taken, read), f"{step.left:,}"]
                rows.append([step.name, "", *counts])
        return rows

    def _corpus_rows(self) -> list[list[str]]:
        rows = [["corpus", "read", "rejected", *SPLITS]]
        for corpus in self._corpora():
            kept = [self.kept[corpus, split] for split in SPLITS]
            counts = [self._of(corpus), self._of(corpus) - sum(kept), *kept]
            rows.append([corpus, *map("{:,}".format, counts)])
        kept = [self.split(split) for split in SPLITS]
        counts = [self.read.total(), self.read.total() - sum(kept), *kept]
        return [*rows, ["total", *map("{:,}".format, counts)]]

    def _check(self, name: str) -> None:
        if name not in self._names:
            raise ValueError(f"{name!r} is not among the steps {', '.join(self._names)}")

    def _reasons(self) -> Iterator[str]:
        return (name for name in self._names if name not in self._repairs or self.reason(name))

    def _corpora(self) -> list[str]:
        return list(dict.fromkeys(corpus for corpus, _ in self.read))

    def _of(self, corpus: str, reason: str | None = None) -> int:
        """Count the rows read of a corpus, or those rejected for a reason."""
        if reason is None:
            return sum(count for key, count in self.read.items() if key[0] == corpus)
        return sum(
            count for key, count in self.rejected.items() if (key[0], key[2]) == (corpus, reason)
        )


def percent(rows: int, of: int) -> str:
    """Write a share so that a small one is not taken for none."""
    share = _share(rows, of)
    if 0 < share < 0.0001:
        return "<0.01%"
    return f"{share:.0%}" if share in {0, 1} else f"{share:.2%}"


def changed(step: Step) -> str:
    """Write how many texts of each side a repair has changed."""
    counts = {side: count for side, count in (("src", step.src), ("tgt", step.tgt)) if count}
    return ", ".join(f"{count:,} {side}" for side, count in counts.items()) or "0"


def _share(rows: int, of: int) -> float:
    return rows / max(of, 1)


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([name.ljust(widths[0]), *map(str.rjust, cells, widths[1:])]).rstrip()
        for name, *cells in rows
    ]
