"""Our own engine: batches of token ids through the model and a search, given back in order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hanyi.decoding.batches import Cost, Fitting, Found, plan, room
from hanyi.decoding.config import SearchConfig
from hanyi.decoding.ensemble import Model
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.jobs import Job, Report
from hanyi.decoding.search import search
from hanyi.errors import ArtifactError
from hanyi.model.processes import ALONE, Processes
from hanyi.tokens.vocab import EOS, PAD


class TorchEngine:
    """A model, or several as one, with every option of the search."""

    def __init__(self, model: Model, tokens: int) -> None:
        """Take at most `tokens` padded source tokens times beams at once."""
        self.model = model
        self.tokens = tokens

    def translate(
        self,
        jobs: Sequence[Job],
        config: SearchConfig,
        *,
        report: Report | None = None,
        processes: Processes = ALONE,
    ) -> list[list[Hypothesis]]:
        """Translate as every engine does.

        The batches are the same for any number of processes. Raises `ArtifactError` when the model
        gives no numbers, as a diverged one does, and `HanyiError` when memory does not suffice for
        a single sentence.
        """
        rows = [row for row, job in enumerate(jobs) if len(job.source)]
        device = next(self.model.parameters()).device
        sentences = [jobs[row].sentence(config) for row in rows]
        cost, most = Cost(self.model, config), room(device, processes)
        batches = [
            [rows[number] for number in batch]
            for batch in plan(sentences, self.tokens // config.places, most, cost)
        ]
        fitting = Fitting(lambda some: _translate_batch(self.model, some, config), config)
        own: list[list[Found]] = []
        training = self.model.training
        self.model.train(False)
        try:
            with torch.no_grad():
                for start in range(0, len(batches), processes.count):
                    turn = batches[start : start + processes.count]  # one for each process
                    own += [fitting([jobs[row] for row in one]) for one in processes.share(turn)]
                    if report is not None:
                        report(sum(map(len, turn)))
        finally:
            self.model.train(training)
        results = [[Hypothesis([], 0.0, finished=True, score=0.0)] for _ in jobs]
        for batch, found in zip(batches, processes.gather(own), strict=True):
            for row, hypotheses in zip(batch, found, strict=True):
                results[row] = hypotheses
        return results


def translate_ids(
    model: Model,
    sources: Sequence[Sequence[int]],
    config: SearchConfig,
    *,
    tokens: int,
    report: Report | None = None,
    processes: Processes = ALONE,
) -> list[list[Hypothesis]]:
    """Translate token ids without specials and without wishes, as `TorchEngine` does."""
    jobs = [Job(source, number=row) for row, source in enumerate(sources)]
    return TorchEngine(model, tokens).translate(jobs, config, report=report, processes=processes)


def _translate_batch(model: Model, jobs: list[Job], config: SearchConfig) -> list[Found]:
    device = next(model.parameters()).device
    memory = model.encode(_pad([job.source for job in jobs]).to(device))
    asked = [job.sentence(config) for job in jobs]
    step = model.step_attending if config.uses_attention else model.step
    found = search(step, model.start(memory, config.beams), asked, config, device)
    require_numbers(found)
    return found


def require_numbers(found: Sequence[Found]) -> None:
    """Raise `ArtifactError` where the likeliest translation has a probability that is no number."""
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
