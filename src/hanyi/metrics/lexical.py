"""Metrics that compare texts as texts, computed by sacrebleu (Post 2018) and signed as it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sacrebleu.metrics.base import Metric as Engine
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from hanyi.errors import DataError
from hanyi.metrics.statistics import Counts, Statistics
from hanyi.metrics.tokenizers import KEY


class Score(NamedTuple):
    """A corpus score and sacrebleu's signature."""

    score: float
    signature: str


@dataclass(frozen=True, slots=True)
class Metric:
    """How a metric is called, and how sacrebleu's object for it is made."""

    label: str
    engine: Callable[[str], Engine]  # from the name of BLEU's tokenizer
    higher_is_better: bool = True


# The name is the key in metrics/score.json and the value of `train.select`.
METRICS: dict[str, Metric] = {
    # force silences a hint about tokenized text, no more; short sentences set it off.
    "bleu": Metric("BLEU", lambda tokenize: BLEU(tokenize=tokenize, force=True)),
    "chrf": Metric("chrF", lambda _: CHRF()),
    "chrf_pp": Metric("chrF++", lambda _: CHRF(word_order=2)),
    "ter": Metric("TER", lambda _: TER(), higher_is_better=False),
}
"""BLEU (Papineni et al. 2002), chrF and chrF++ (Popović 2015, 2017), TER (Snover et al. 2006)."""
LABELS = {**{name: metric.label for name, metric in METRICS.items()}, "comet": "COMET"}
"""How people write the names."""
QUICK = ("bleu", "chrf")
"""Metrics that training validates with: TER takes ten times as long as the others together."""


def measure(
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokenize: str,
    names: Iterable[str] = tuple(METRICS),
) -> dict[str, Statistics]:
    """Give what each metric counts in each row; `tokenize` is what `bleu_tokenizer` gives.

    Raises `DataError` for unequal counts, no sentences, or a tokenizer that cannot be had.
    """
    _check(hypotheses, references)
    return {
        name: _statistics(_engine(METRICS[name], tokenize), hypotheses, references)
        for name in names
    }


def score_all(
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokenize: str,
    names: Iterable[str] = tuple(METRICS),
) -> dict[str, Score]:
    """Give the corpus score of each metric; raises as `measure` does."""
    found = measure(hypotheses, references, tokenize, names)
    return {name: Score(one.score(), one.signature) for name, one in found.items()}


def require_tokenizer(tokenize: str) -> None:
    """Raise `DataError` when BLEU's tokenizer cannot be had, before any work is done."""
    _engine(METRICS["bleu"], tokenize)


def _engine(metric: Metric, tokenize: str) -> Engine:
    try:
        return metric.engine(tokenize)
    except (RuntimeError, ImportError, OSError, SystemExit) as error:
        raise DataError(
            KEY,
            f"{tokenize} cannot be had: {error}",
            "a tokenizer that is installed",
            "install it, or set char, which is always there",
        ) from error


def _statistics(engine: Engine, hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
    # What sacrebleu's own significance tests are made of; its public methods count the texts
    # anew for each resample and each part of the test set.
    counts = engine._extract_corpus_statistics(hypotheses, [references])

    def compute(sums: Counts) -> float:
        found: Any = engine._compute_score_from_stats(sums.tolist())
        return float(found.score)

    return Statistics(np.array(counts, dtype=np.float64), compute, str(engine.get_signature()))


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise DataError(
            "translations",
            f"{len(hypotheses)} for {len(references)} references",
            "equal counts",
            "run `dvc repro`",
        )
    if not references:
        raise DataError("references", "no sentences", "one at least", "check the test split")
