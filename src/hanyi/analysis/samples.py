"""Sentences that are worth a look: the worst, the best, those with signs of trouble, any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hanyi.analysis.health import MEANINGS
from hanyi.analysis.sentences import Sentences
from hanyi.corpus.samples import splitmix64
from hanyi.scoring.pairing import by_corpus

MOST = 20
"""Sentences of a group, at most."""

FEW = 10
"""Sentences of each corpus and of each sign of trouble, at most."""

ORDER_BY = "chrf"


class Group(NamedTuple):
    """Rows by their places, best or worst first, and how many there are of the kind."""

    title: str
    places: NDArray[np.int64]
    of: int


def groups(sentences: Sentences) -> Iterator[Group]:
    """Give the groups of the report, each without rows left out.

    Sentences are ordered by chrF, ties by id; the random ones by a hash of the id.
    """
    scores = sentences.scores[ORDER_BY]
    ids = np.array([pair.id for pair in sentences.pairs], np.int64)
    ascending = np.lexsort((ids, scores))
    rows = len(ids)
    yield Group("Any sentences", np.argsort(splitmix64(ids), kind="stable")[:MOST], rows)
    yield Group("Worst sentences", ascending[:MOST], rows)
    yield Group("Best sentences", np.lexsort((ids, -scores))[:MOST], rows)
    names = np.array([pair.corpus for pair in sentences.pairs], object)
    corpora = by_corpus(sentences.pairs)
    for name in corpora if len(corpora) > 1 else ():
        found = ascending[names[ascending] == name]
        yield Group(f"Worst sentences of {name}", found[:FEW], len(found))
    for flag, mask in sentences.flags.items():
        found = ascending[mask[ascending]]
        if len(found):
            yield Group(f"{flag.capitalize()}: {MEANINGS[flag]}", found[:FEW], len(found))
