"""All that is measured on the test split, by the `score` section."""

from __future__ import annotations

from collections.abc import Sequence

from hanyi.metrics.lexical import measure
from hanyi.metrics.statistics import Statistics
from hanyi.metrics.tokenizers import bleu_tokenizer
from hanyi.scoring.comet import measure_comet
from hanyi.scoring.config import ScoreConfig
from hanyi.scoring.pairing import Pair


def evaluate(pairs: Sequence[Pair], config: ScoreConfig, target: str) -> dict[str, Statistics]:
    """Give what each metric counts in each row; `target` is the language (BCP 47).

    Raises `HanyiError` for a tokenizer or a model that cannot be had.
    """
    tokenize = bleu_tokenizer(config.tokenize, target)
    # First what may be missing, so that nobody waits for the rest in vain.
    comet = {} if config.comet is None else {"comet": measure_comet(pairs, config.comet)}
    hypotheses = [pair.hypothesis for pair in pairs]
    return {**measure(hypotheses, [pair.reference for pair in pairs], tokenize), **comet}
