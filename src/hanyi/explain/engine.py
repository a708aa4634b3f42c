"""An engine that translates as ours does, one source at a time, and remembers how it searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from hanyi.decoding.engine import require_numbers
from hanyi.decoding.hypothesis import Attentive, Hypothesis, Rows, next_log_probs
from hanyi.decoding.search import search
from hanyi.explain.watch import Watch
from hanyi.model.processes import ALONE, Processes
from hanyi.tokens.vocab import EOS

if TYPE_CHECKING:
    from hanyi.decoding.config import SearchConfig
    from hanyi.decoding.ensemble import Model
    from hanyi.decoding.jobs import Job, Report


class WatchedCache:
    """The state of a model, which tells what became of its rows."""

    def __init__(self, cache: Rows) -> None:
        self.cache = cache
        self.origins: list[int] | None = None  # of each row, since the newest step; None: as before

    def select(self, index: Tensor) -> None:
        """Make row `index[i]` the new row i."""
        self.origins = index.tolist()
        self.cache.select(index)

    @property
    def attention(self) -> Tensor:
        """Give what the newest step read of each source token, `[rows, src_len]`."""
        return cast("Attentive", self.cache).attention


class WatchedEngine:
    """A model and the searches that it has done; draws are not watched, for they have no tree."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.watches: list[Watch] = []

    @torch.no_grad()
    def translate(
        self,
        jobs: Sequence[Job],
        config: SearchConfig,
        *,
        report: Report | None = None,
        processes: Processes = ALONE,
    ) -> list[list[Hypothesis]]:
        """Translate as every engine does."""
        found = [self._translate(job, config) for job in processes.share(jobs)]
        if report is not None:
            report(len(jobs))
        return found

    def _translate(self, job: Job, config: SearchConfig) -> list[Hypothesis]:
        device = next(self.model.parameters()).device
        sentence = job.sentence(config)
        watch = Watch(sentence, config, device) if config.method == "beam" else None
        model_step = self.model.step_attending if config.uses_attention else self.model.step

        def step(tokens: Tensor, cache: WatchedCache) -> Tensor:
            if watch and watch.length:
                origins = range(len(tokens)) if cache.origins is None else cache.origins
                watch.goes_on(origins, tokens.tolist())
            cache.origins = None
            logits = model_step(tokens, cache.cache)
            if watch:
                watch.sees(next_log_probs(logits))
            return logits

        memory = self.model.encode(torch.tensor([[*job.source, EOS]], device=device))
        cache = WatchedCache(self.model.start(memory, config.beams))
        found = search(step, cache, [sentence], config, device)
        require_numbers(found)
        if watch:
            watch.is_over()
            self.watches.append(watch)
        return found[0]
