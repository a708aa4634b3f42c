"""Corpus-level metrics, each with the signature that says how it was computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from hanyi.errors import DataError
from hanyi.params import config, one_of


class Score(NamedTuple):
    """A corpus score from 0 to 100 and sacrebleu's signature."""

    score: float
    signature: str


@config
class ScoreConfig:
    """The `score` section; training scores its validations with it too."""

    tokenize: str
    chrf_word_order: int

    def __post_init__(self) -> None:
        """Check the choices and ranges."""
        one_of("tokenize", self.tokenize, BLEU.TOKENIZERS)
        if not 0 <= self.chrf_word_order <= 4:
            raise ValueError(f"chrf_word_order must be 0 to 4, got {self.chrf_word_order}")


Metric = Callable[[Sequence[str], Sequence[str], ScoreConfig], Score]


def bleu(hypotheses: Sequence[str], references: Sequence[str], config: ScoreConfig) -> Score:
    """Give corpus BLEU (Papineni et al. 2002) as sacrebleu does (Post 2018).

    Raises `DataError` for unequal counts, no sentences, or a tokenizer that is not installed.
    """
    _check(hypotheses, references)
    try:
        # force silences a hint about tokenized text, no more; short sentences set it off.
        metric = BLEU(tokenize=config.tokenize, force=True)
    except (RuntimeError, ImportError) as error:
        raise DataError(
            "score.tokenize",
            str(error),
            "a tokenizer that is installed",
            "install it or take another",
        ) from error
    score = float(metric.corpus_score(hypotheses, [references]).score)
    return Score(score, str(metric.get_signature()))


def chrf(hypotheses: Sequence[str], references: Sequence[str], config: ScoreConfig) -> Score:
    """Give corpus chrF (Popović 2015), or chrF++ with word order 2.

    Raises `DataError` for unequal counts and for no sentences.
    """
    _check(hypotheses, references)
    metric = CHRF(word_order=config.chrf_word_order)
    score = float(metric.corpus_score(hypotheses, [references]).score)
    return Score(score, str(metric.get_signature()))


# The name is the key in metrics/score.json and the value of `train.select`.
METRICS: dict[str, Metric] = {"bleu": bleu, "chrf": chrf}
LABELS = {"bleu": "BLEU", "chrf": "chrF"}
"""How people write the names; others stand as they are."""


def score_all(
    hypotheses: Sequence[str], references: Sequence[str], config: ScoreConfig
) -> dict[str, Score]:
    """Give every metric of the registry by its name."""
    return {name: metric(hypotheses, references, config) for name, metric in METRICS.items()}


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
