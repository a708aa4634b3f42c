"""The rows of a test set as `score` has described them, and those that changed most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hanyi.analysis.health import FLAGS
from hanyi.analysis.samples import FEW, ORDER_BY, Group
from hanyi.analysis.sentences import Sentences, sentence_scores
from hanyi.languages import Languages
from hanyi.metrics.lexical import LABELS, measure
from hanyi.scoring.pairing import Pair

NO_TOKENIZER = "none"  # chrF looks at characters


def described(table: pa.Table, languages: Languages) -> Sentences:
    """Give the rows of `sentences.parquet`; what the file does not hold is empty."""
    columns = table.to_pydict()
    texts = (columns[name] for name in ("id", "corpus", "src", "reference", "hypothesis"))
    return Sentences(
        pairs=[Pair(*row) for row in zip(*texts, columns["log_prob"], strict=True)],
        languages=languages,
        statistics={},
        scores={name: np.array(columns[name], float) for name in LABELS if name in columns},
        flags={name: np.array(columns[name], bool) for name in FLAGS if name in columns},
        copied={},
        src_words=np.array(columns["src_words"], np.int64),
        references=[],
        hypotheses=[],
        seen={},
        rarest=np.array([], np.int64),
    )


def scores_of(texts: Sequence[str], sentences: Sentences) -> NDArray[np.float64]:
    """Give the chrF of other translations of the same rows, `[rows]`."""
    references = [pair.reference for pair in sentences.pairs]
    found = measure(texts, references, NO_TOKENIZER, [ORDER_BY])
    return sentence_scores(ORDER_BY, found[ORDER_BY])


def changed_most(sentences: Sentences, before: NDArray[np.float64]) -> list[Group]:
    """Give the rows that rose and those that fell most in chrF, ties by id."""
    changes = np.round(sentences.scores[ORDER_BY] - before, 6)
    ids = np.array([pair.id for pair in sentences.pairs], np.int64)
    groups = []
    for title, falls in (
        ("Better than the baseline", -changes),
        ("Worse than the baseline", changes),
    ):
        order = np.lexsort((ids, falls))
        found = order[falls[order] < 0]
        groups.append(Group(title, found[:FEW], len(found)))
    return groups
