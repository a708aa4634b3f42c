"""The one way into every search: by the method and the options that the parameters ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from hanyi.decoding.beam import beam_search
from hanyi.decoding.config import SearchConfig
from hanyi.decoding.greedy import greedy_search
from hanyi.decoding.hypothesis import Hypothesis, Rows
from hanyi.decoding.sampling import sample
from hanyi.decoding.sentences import Sentence, Wish

Cache = TypeVar("Cache", bound=Rows)


def search(
    step: Callable[[Tensor, Cache], Tensor],
    cache: Cache,
    sentences: Sequence[Sentence],
    config: SearchConfig,
    device: torch.device,
) -> list[list[Hypothesis]]:
    """Find at most `n_best` hypotheses for each sentence of a batch, best first, and at least one.

    `step(tokens [rows], cache)` gives logits `[rows, tgt_vocab]`, which it leaves to the search;
    the cache holds `config.beams` rows for each sentence, side by side. Where the configuration
    says `uses_attention`, each step leaves `cache.attention`, `[rows, src_len]`. Finished
    hypotheses come first, then those that were cut.
    """
    if config.method == "sample":
        return sample(step, cache, sentences, config, device)
    if _is_greedy(sentences, config):
        limits = torch.tensor([sentence.limit for sentence in sentences], device=device)
        return [[one] for one in greedy_search(step, cache, limits, config)]
    return beam_search(step, cache, sentences, config, device)


def _is_greedy(sentences: Sequence[Sentence], config: SearchConfig) -> bool:
    """Say whether the beam is of one and has nothing to heed, so that the simpler search does."""
    options = config.coverage_penalty or config.no_repeat_ngram
    free = all(one.least == 0 and one.wish == Wish() for one in sentences)
    return config.beam_size == 1 and free and not options
