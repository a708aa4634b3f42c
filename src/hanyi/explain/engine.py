"""An engine that translates as ours does, one source at a time, and remembers how it searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

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
    from hanyi.decoding.sentences import Sentence


Cache = TypeVar("Cache", bound=Rows)


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
        step = self.model.step_attending if config.uses_attention else self.model.step
        memory = self.model.encode(torch.tensor([[*job.source, EOS]], device=device))
        cache = self.model.start(memory, config.beams)
        sentence = job.sentence(config)
        if config.method != "beam":
            found = search(step, cache, [sentence], config, device)[0]
        else:
            found, watch = watched_search(step, cache, sentence, config, device)
            self.watches.append(watch)
        require_numbers([found])
        return found


def watched_search(
    step: Callable[[Tensor, Cache], Tensor],
    cache: Cache,
    sentence: Sentence,
    config: SearchConfig,
    device: torch.device,
) -> tuple[list[Hypothesis], Watch]:
    """Search as `search` does for one sentence, and give what was watched too."""
    watch = Watch(sentence, config, device)

    def watched_step(tokens: Tensor, watched: WatchedCache) -> Tensor:
        if watch.length:
            origins = range(len(tokens)) if watched.origins is None else watched.origins
            watch.goes_on(origins, tokens.tolist())
        watched.origins = None
        logits = step(tokens, cache)
        watch.sees(next_log_probs(logits))
        return logits

    found = search(watched_step, WatchedCache(cache), [sentence], config, device)[0]
    watch.is_over()
    return found, watch
