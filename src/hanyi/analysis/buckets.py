"""Ranges that rows and words are sorted into, the same for every test set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Buckets(NamedTuple):
    """Ranges of whole numbers by where each begins, in order; the last one has no end."""

    begins: tuple[int, ...]

    def places(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the number of the range that each value lies in."""
        return np.asarray(np.searchsorted(self.begins, values, side="right") - 1, np.int64)

    def labels(self) -> Iterator[str]:
        """Give the names of the ranges: `5`, `6-10`, `81+`."""
        for begin, after in zip(self.begins, [*self.begins[1:], None], strict=True):
            if after is None:
                yield f"{begin}+"
            else:
                yield f"{begin}" if after - begin == 1 else f"{begin}-{after - 1}"


LENGTHS = Buckets((0, 1, 6, 11, 21, 31, 51, 81))
"""Words of a source, where each Han counts as one."""

FREQUENCIES = Buckets((0, 1, 2, 5, 10, 100, 1000))
"""How often a word occurs in the targets of the train split."""
