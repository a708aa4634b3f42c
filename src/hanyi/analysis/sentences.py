"""All that is known of each row of the test set, and the table that holds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet
from sacrebleu.metrics.bleu import BLEU

from hanyi.analysis import copies, health
from hanyi.analysis.frequency import rarest
from hanyi.analysis.words import occurrences, words
from hanyi.languages import Languages
from hanyi.metrics.statistics import Statistics
from hanyi.scoring.pairing import Pair

ROW_GROUP = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """The rows of a test set; arrays and lists are `[rows]`, in the order of `pairs`."""

    pairs: Sequence[Pair]
    languages: Languages
    statistics: Mapping[str, Statistics]
    scores: Mapping[str, NDArray[np.float64]]
    """Each metric of each sentence alone."""
    flags: Mapping[str, health.Mask]
    copied: Mapping[str, NDArray[np.int64]]
    """Expected and found, `[rows, 2]`, by kind."""
    src_words: NDArray[np.int64]
    references: Sequence[Counter[str]]
    """Words of each reference."""
    hypotheses: Sequence[Counter[str]]
    seen: Mapping[str, int]
    """How often training saw each word of references and translations."""
    rarest: NDArray[np.int64]

    @property
    def sick(self) -> health.Mask:
        """Tell which rows have any flag."""
        return np.asarray(np.any(list(self.flags.values()), axis=0))


def describe(
    pairs: Sequence[Pair],
    statistics: Mapping[str, Statistics],
    languages: Languages,
    train: Path,
) -> Sentences:
    """Find out all about each row; `statistics` are of these rows, `train` is the train split."""
    references = [Counter(words(pair.reference)) for pair in pairs]
    hypotheses = [Counter(words(pair.hypothesis)) for pair in pairs]
    seen = occurrences(train, set().union(*references, *hypotheses))
    return Sentences(
        pairs=pairs,
        languages=languages,
        statistics=statistics,
        scores={name: sentence_scores(name, one) for name, one in statistics.items()},
        flags=health.check(health.Rows(pairs, languages)),
        copied={
            name: np.array([count(pair) for pair in pairs], np.int64).reshape(-1, 2)
            for name, count in copies.KINDS.items()
        },
        src_words=np.array([len(words(pair.source)) for pair in pairs], np.int64),
        references=references,
        hypotheses=hypotheses,
        seen=seen,
        rarest=rarest(references, seen),
    )


def sentence_scores(name: str, statistics: Statistics) -> NDArray[np.float64]:
    """Give the score of each sentence, `[rows]`.

    BLEU is smoothed as that of a corpus is, and takes only the orders of n-grams that a sentence
    has (`effective_order` of sacrebleu).
    """
    compute = _sentence_bleu if name == "bleu" else statistics.compute
    return np.array([compute(counts) for counts in statistics.counts], np.float64)


def write_sentences(path: Path, sentences: Sentences) -> None:
    """Write a Parquet row for each sentence, in order; the bytes depend on nothing else."""
    parquet.write_table(_table(sentences), path, row_group_size=ROW_GROUP, compression="zstd")


def read_sentences(data: bytes) -> pa.Table:
    """Read the table out of the bytes of its file; raise `pyarrow.ArrowInvalid` for any others."""
    # From Arrow's own memory: a thread of it that lets go of Python's while Python ends would abort
    # the process.
    memory = pa.BufferOutputStream()
    memory.write(data)
    return parquet.read_table(pa.BufferReader(memory.getvalue()))


def _table(sentences: Sentences) -> pa.Table:
    pairs = sentences.pairs
    columns = {
        "id": pa.array([pair.id for pair in pairs], pa.int64()),
        "corpus": pa.array([pair.corpus for pair in pairs], pa.string()),
        "src": pa.array([pair.source for pair in pairs], pa.string()),
        "reference": pa.array([pair.reference for pair in pairs], pa.string()),
        "hypothesis": pa.array([pair.hypothesis for pair in pairs], pa.string()),
        "src_words": pa.array(sentences.src_words),
        "reference_words": pa.array([one.total() for one in sentences.references], pa.int64()),
        "hypothesis_words": pa.array([one.total() for one in sentences.hypotheses], pa.int64()),
        "rarest_word": pa.array(sentences.rarest, mask=sentences.rarest < 0),
        "log_prob": pa.array([pair.log_prob for pair in pairs], pa.float64()),
        **{name: pa.array(scores) for name, scores in sentences.scores.items()},
    }
    for name, counts in sentences.copied.items():
        columns[f"{name}_expected"] = pa.array(counts[:, 0])
        columns[f"{name}_found"] = pa.array(counts[:, 1])
    columns |= {name: pa.array(mask) for name, mask in sentences.flags.items()}
    return pa.table(columns)


def _sentence_bleu(counts: NDArray[np.float64]) -> float:
    hypothesis, reference, *rest = (int(count) for count in counts)
    orders = len(rest) // 2
    found = BLEU.compute_bleu(
        rest[:orders], rest[orders:], hypothesis, reference, "exp", effective_order=True
    )
    return float(found.score)
