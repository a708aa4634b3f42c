"""The near-duplicates of rows, and those of theirs, with few passes over a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from hanyi.corpus.cleaning.blocks import Mask

Links = NDArray[np.int64]
"""Places of a row and of one that it is near to, `[links, 2]`."""
NO_LINKS: Links = np.empty((0, 2), np.int64)

Search = Callable[[Mask, Mask, float], Iterator[Links]]
"""Gives the links of rows of the first mask with rows of the second, from a similarity on."""


STEPS = 3
WIDEST = 0.4
"""From kin to kin in one pass over the pool: so many steps, and not below this similarity."""


class Kin:
    """Near-duplicates within a pool of rows, bool [places].

    One minus the similarity is a distance that keeps the triangle inequality (Jaccard distance),
    so what is near to something near to a row lies within twice the distance of the row. One pass
    over the pool with a wide radius finds all that the next searches may find.
    """

    def __init__(self, search: Search, pool: Mask, similarity: float) -> None:
        self._search = search
        self._pool = pool
        self._near = similarity
        steps = range(STEPS, 0, -1)
        self._steps = next((n for n in steps if _widened(similarity, n) >= WIDEST), 1)
        self._candidates = np.zeros(len(pool), np.bool_)
        # From each row, so many steps from kin to kin stay among the candidates.
        self._reach = np.zeros(len(pool), np.uint8)

    def find(self, rows: NDArray[np.int64]) -> Links:
        """Give all links of the pool with some rows."""
        asked = np.zeros(len(self._pool), np.bool_)
        asked[rows] = True
        fresh = asked & (self._reach == 0)
        if fresh.any():
            wide = _widened(self._near, self._steps)
            for links in self._search(self._pool, fresh, wide):
                self._candidates[links[:, 0]] = True
            self._reach[fresh] = self._steps
        links = np.concatenate([NO_LINKS, *self._search(self._candidates, asked, self._near)])
        np.maximum.at(self._reach, links[:, 0], self._reach[links[:, 1]] - 1)
        return links


def _widened(similarity: float, steps: int) -> float:
    return 1 - steps * (1 - similarity)
