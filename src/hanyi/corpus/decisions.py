"""What becomes of each cleaned row, decided over all corpora: its split, duplicate, or leak."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hanyi.corpus.cleaning.blocks import Mask
from hanyi.corpus.cleaning.config import PrepareConfig
from hanyi.corpus.digests import DigestStore, first_occurrence, members
from hanyi.corpus.funnel import COMPARISONS
from hanyi.corpus.keys import Keys, fold_column, folded_keys, pair_keys
from hanyi.corpus.near import NearIndex
from hanyi.corpus.near_duplicates import Texts, near_duplicates
from hanyi.corpus.pairs import ROLES, SIDES, WHOLE, Part
from hanyi.corpus.splits import REMEDY, split_off
from hanyi.corpus.spool import FOLDED, Spool
from hanyi.corpus.workers import ordered
from hanyi.errors import DataError

log = logging.getLogger("hanyi.corpus")

FATES = (*ROLES, *COMPARISONS)
"""A row is in a split, not yet in one ("all"), or rejected for a reason."""

TRAIN, VALID, TEST, UNDIVIDED, DUPLICATE, NEAR_DUPLICATE, LEAK, NEAR_LEAK = range(len(FATES))

Places = NDArray[np.int64]
Links = NDArray[np.int64]
"""Places of a row and of one that it is near to, `[links, 2]`."""
NO_LINKS: Links = np.empty((0, 2), np.int64)


class Traces(NamedTuple):
    """What is compared of rows: keys uint64 [rows, 2] and the folded sentences."""

    pair: Keys
    src: Keys
    tgt: Keys
    folded: pa.RecordBatch


class Decisions:
    """The fate of every row that the rules have left, by its place among them."""

    def __init__(
        self, parts: Sequence[Part], config: PrepareConfig, work: Path, workers: int
    ) -> None:
        self.part_of: list[int] = []
        """Number of the part that each block of rows is of."""
        self.fates: NDArray[np.uint8] = np.zeros(0, np.uint8)
        self._parts = parts
        self._config = config
        self._work = work
        self._workers = workers
        self._folded = Spool(work / "folded.arrow", FOLDED)
        self._pair, self._src, self._tgt = (
            DigestStore(work / f"{name}.keys") for name in ("pair", *SIDES)
        )

    def traces(self, src: pa.StringArray, tgt: pa.StringArray) -> Traces:
        """Give what is compared of cleaned rows; any thread may ask."""
        folded = [fold_column(src), fold_column(tgt)]
        pair = pair_keys(*(folded if self._config.duplicates == "folded" else (src, tgt)))
        columns = pa.RecordBatch.from_arrays(folded, schema=FOLDED)
        return Traces(pair, folded_keys(folded[0]), folded_keys(folded[1]), columns)

    def add(self, part: int, traces: Traces, kept: NDArray[np.int64]) -> None:
        """Take in the traces of the rows of a block that are kept so far, one at least."""
        self.part_of.append(part)
        self._pair.append(traces.pair[kept])
        self._src.append(traces.src[kept])
        self._tgt.append(traces.tgt[kept])
        self._folded.write(traces.folded.take(pa.array(kept)))

    def decide(self) -> None:
        """Decide about every row, once all are there.

        Rows that would leak into a valid or test part that is given are rejected before corpora are
        divided, so that the splits made here come out as large as asked.
        """
        self._folded.finish()
        with self._pair, self._src, self._tgt:
            self._decide()

    def _decide(self) -> None:
        roles = [ROLES.index(part.role) for part in self._parts]
        self.fates = self._of_parts(roles).astype(np.uint8)
        self._remove_duplicates()
        given = self._are(VALID, TEST)
        self._reject(self._sharing(self._are(VALID), self._are(TEST)), LEAK)
        self._guard(self._are(TRAIN, UNDIVIDED), given)
        for corpus in dict.fromkeys(part.corpus for part in self._parts if part.role == WHOLE):
            pool = self._of_corpus(corpus) & self._are(UNDIVIDED)
            made = self._divide(corpus, pool)
            # What was divided is free of leaks already; the corpus may have a part for train too.
            self._guard(self._are(TRAIN, UNDIVIDED) & ~pool, made)
        self._remove_near_duplicates()

    def _are(self, *fates: int) -> Mask:
        return np.isin(self.fates, fates)

    def _of_parts(self, values: Sequence[int]) -> NDArray[np.int64]:
        """Give each row the value of its part."""
        blocks = self._folded.blocks()
        rows = [self._folded.places(number) for number in blocks]
        sizes = [places.stop - places.start for places in rows]
        return np.repeat(np.array(values)[self.part_of], sizes)

    def _of_corpus(self, name: str) -> Mask:
        return self._of_parts([part.corpus == name for part in self._parts]).astype(np.bool_)

    def _reject(self, rows: Mask, fate: int) -> None:
        self.fates[rows] = fate

    def _remove_duplicates(self) -> None:
        """Reject training pairs that occurred before, over all corpora; given splits stay whole."""
        if self._config.duplicates == "none":
            return
        unsafe = self._are(TRAIN, UNDIVIDED)
        self._reject(first_occurrence(self._pair, unsafe), DUPLICATE)

    def _guard(self, unsafe: Mask, held: Mask) -> None:
        """Reject rows that share a sentence with held-out ones, or have one that is nearly so."""
        if not held.any() or not unsafe.any():
            return
        self._reject(self._sharing(unsafe, held), LEAK)
        near = self._config.leaks.near
        if near is not None:
            for links in self._near(unsafe & self._are(TRAIN, UNDIVIDED), held, near):
                self.fates[links[:, 0]] = NEAR_LEAK

    def _sharing(self, asked: Mask, held: Mask) -> Mask:
        """Tell which of some rows have a sentence of held-out ones, on whichever side."""
        wanted = np.concatenate([self._src.view()[held], self._tgt.view()[held]])
        return members(self._src, asked, wanted) | members(self._tgt, asked, wanted)

    def _near(self, asked: Mask, held: Mask, similarity: float) -> Iterator[Links]:
        """Give the links of rows that are asked about with held-out ones that they resemble."""
        held_places = np.flatnonzero(held)
        index = NearIndex(self._texts(held), similarity)

        def search(number: int) -> Links:
            places, rows = self._read(number, asked)
            pairs = np.concatenate([index.pairs(rows[side]) for side in SIDES])
            # The index holds the sources of the held-out rows, then their targets.
            found = places[pairs[:, 0]], held_places[pairs[:, 1] % len(held_places)]
            return np.stack(found, axis=1)

        yield from ordered(search, self._folded.blocks(asked), self._workers)

    def _read(self, number: int, asked: Mask) -> tuple[Places, pa.RecordBatch]:
        """Give the rows of a block that are asked about, folded, and their places."""
        within = self._folded.places(number)
        places = within.start + np.flatnonzero(asked[within])
        return places, self._folded.read(number, asked)

    def _texts(self, rows: Mask) -> pa.StringArray:
        """Give the source sentences of rows, then the target sentences."""
        blocks = [self._folded.read(number, rows) for number in self._folded.blocks(rows)]
        return pa.concat_arrays([block[side] for side in SIDES for block in blocks])

    def _divide(self, corpus: str, pool: Mask) -> Mask:
        """Divide `pool` into the splits that its corpus has no part for; give the held-out rows."""
        roles = {part.role for part in self._parts if part.corpus == corpus}
        sizes = {"test": self._config.split.test, "valid": self._config.split.valid}
        wanted = {split: size for split, size in sizes.items() if split not in roles}
        if sum(wanted.values()) >= pool.sum():
            told = " and ".join(f"{size} for {split}" for split, size in wanted.items())
            read = sum(part.rows for part in self._parts if part.corpus == corpus)
            found = f"{pool.sum()} rows left of {read}"
            raise DataError(f"corpus {corpus}", found, f"more than {told}", REMEDY)
        sides = self._src, self._tgt
        near = self._config.leaks.near

        chosen = split_off(
            corpus,
            sides,
            pool,
            wanted,
            self._config.split.seed,
            find_near=None if near is None else partial(self._kin, pool, near),
        )
        self.fates[pool] = TRAIN
        made = np.zeros(len(pool), np.bool_)
        for split, rows in chosen.items():
            self.fates[rows] = ROLES.index(split)
            made[rows] = True
        return made

    def _kin(self, pool: Mask, similarity: float, rows: Places) -> Links:
        """Give the links of a pool with some of its rows."""
        chosen = np.zeros(len(pool), np.bool_)
        chosen[rows] = True
        return np.concatenate([NO_LINKS, *self._near(pool, chosen, similarity)])

    def _remove_near_duplicates(self) -> None:
        """Reject training pairs that resemble an earlier one on both sides."""
        similarity = self._config.near_duplicates
        train = self._are(TRAIN)
        if similarity is None or not train.any():
            return

        def blocks() -> Iterator[Texts]:
            for number in self._folded.blocks(train):
                places, rows = self._read(number, train)
                yield Texts(places, rows["src"], rows["tgt"])

        found = near_duplicates(blocks, similarity, self._work, self._workers)
        self.fates[found[:, 0]] = NEAR_DUPLICATE
