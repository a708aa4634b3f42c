"""Translation of token ids: sorted by length, batched by a budget, given back in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from hanyi.decoding.config import SearchConfig
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.search import search
from hanyi.decoding.sentences import Sentence
from hanyi.errors import ArtifactError
from hanyi.model.processes import ALONE, Processes
from hanyi.model.transformer import Transformer
from hanyi.tokens.vocab import EOS, PAD


def translate_ids(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    config: SearchConfig,
    *,
    tokens: int,
    report: Callable[[int], object] | None = None,
    processes: Processes = ALONE,
) -> list[list[Hypothesis]]:
    """Translate token ids without specials: for each source its `n_best` hypotheses, best first.

    A batch holds at most `tokens` padded source tokens times beams, or a single longer sentence. An
    empty source has one translation, the empty one, with log probability 0. `report` hears after
    each batch how many sentences are done. Several processes share the batches, which are the same
    for any number of them, and all get all translations. Raises `ArtifactError` when the model
    gives no numbers, as a diverged one does.
    """
    batches = _batches(sources, tokens // config.places)
    own: list[list[list[Hypothesis]]] = []
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            for start in range(0, len(batches), processes.count):
                turn = batches[start : start + processes.count]  # one for each process
                for batch in processes.share(turn):
                    found = _translate_batch(model, [sources[row] for row in batch], config)
                    _check(found)
                    own.append(found)
                if report is not None:
                    report(sum(map(len, turn)))
    finally:
        model.train(training)
    results: list[list[Hypothesis]] = [
        [Hypothesis([], 0.0, finished=True, score=0.0)] for _ in sources
    ]
    for batch, found in zip(batches, processes.gather(own), strict=True):
        for row, hypotheses in zip(batch, found, strict=True):
            results[row] = hypotheses
    return results


def _batches(sources: Sequence[Sequence[int]], tokens: int) -> list[list[int]]:
    """Group rows that are not empty, longest first: a batch too large for memory fails at once."""
    rows = [row for row, source in enumerate(sources) if len(source)]
    rows.sort(key=lambda row: -len(sources[row]))
    batches: list[list[int]] = []
    for row in rows:
        longest = len(sources[batches[-1][0]]) + 1 if batches else 0  # EOS included
        if batches and (len(batches[-1]) + 1) * longest <= tokens:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def _translate_batch(
    model: Transformer, sources: list[Sequence[int]], config: SearchConfig
) -> list[list[Hypothesis]]:
    device = next(model.parameters()).device
    memory = model.encode(_pad(sources).to(device))
    asked = [
        Sentence(len(source) + 1, config.limit(len(source)), config.least(len(source)))
        for source in sources
    ]
    return search(model.step, model.start(memory, config.places), asked, config, device)


def _check(found: list[list[Hypothesis]]) -> None:
    if not all(best and math.isfinite(best[0].log_prob) for best in found):
        raise ArtifactError(
            "the model",
            "probabilities that are not numbers",
            "finite weights",
            "train again with a lower learning rate or with gradient clipping",
        )


def _pad(sources: list[Sequence[int]]) -> Tensor:
    """Lay out sources with EOS as `[batch, src_len]`."""
    longest = max(len(source) for source in sources) + 1
    padded = np.full((len(sources), longest), PAD, dtype=np.int64)
    for row, source in enumerate(sources):
        padded[row, : len(source)] = source
        padded[row, len(source)] = EOS
    return torch.from_numpy(padded)
