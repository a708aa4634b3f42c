"""Sources put together into batches that fit into memory, and cut again where they do not."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import nn

from hanyi.decoding.config import SearchConfig
from hanyi.decoding.ensemble import Model
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.jobs import Job
from hanyi.decoding.sentences import Sentence
from hanyi.errors import HanyiError
from hanyi.model.memory import available_bytes, is_out_of_memory
from hanyi.model.processes import Processes
from hanyi.model.transformer import Transformer

log = logging.getLogger("hanyi.decoding")

FLOAT = 4  # bytes
SHARE = 0.5  # of the free memory that a batch may take; other programs want some too
LOGITS = 4  # tensors of that size at once: logits, probabilities, and what sorting them takes

Found = list[Hypothesis]


def plan(
    sentences: Sequence[Sentence], tokens: int, room: float, cost: Callable[[int, int], int]
) -> list[list[int]]:
    """Group the numbers of sentences, longest first, into batches.

    A batch holds at most `tokens` padded source tokens and takes at most `room` bytes, or is a
    single sentence; `cost(src_len, limit)` gives the bytes of a sentence of those lengths. Longest
    first, so that a batch too large for memory is met at once.
    """
    order = sorted(range(len(sentences)), key=lambda number: -sentences[number].src_len)
    batches: list[list[int]] = []
    longest = limit = 0
    for number in order:
        sentence = sentences[number]
        count = len(batches[-1]) + 1 if batches else 0
        wider = max(limit, sentence.limit)
        if count and count * longest <= tokens and count * cost(longest, wider) <= room:
            batches[-1].append(number)
            limit = wider
        else:
            batches.append([number])
            longest, limit = sentence.src_len, sentence.limit
    return batches


class Cost:
    """The bytes that a sentence takes at most while it is translated, by its lengths in tokens."""

    def __init__(self, model: Model, config: SearchConfig) -> None:
        """Add up the widths of a Transformer, or of several in an ensemble."""
        parts = cast("nn.Module", model).modules()
        models = [part for part in parts if isinstance(part, Transformer)]
        self.score = self.source = self.kept = self.target = self.path = (
            0  # floats by what they grow with
        )
        for one in models:
            sizes = one.config
            kept = 2 * sizes.decoder_depth * sizes.groups * sizes.d_model // sizes.heads
            self.score += 2 * sizes.heads  # attention of one encoder layer
            self.source += kept + 4 * sizes.d_model + 2 * sizes.d_ff
            self.kept += kept
            self.target += 2 * kept  # the cache, and its copy when it grows
            self.path += 2 * (sizes.heads + 1)  # attention of all beams to the nodes of all
        self.logits = LOGITS * sum(one.tgt_vocab for one in models)
        self.places, self.beams = config.places, config.beams

    def __call__(self, src_len: int, limit: int) -> int:
        """Give the bytes, for a source padded to `src_len` and a translation up to `limit`."""
        source = self.score * src_len**2 + self.source * src_len
        if self.beams < self.places:  # each sample is a sentence of its own in the cache
            source += 2 * self.kept * src_len * self.places
        target = (self.target + self.path * self.beams) * limit
        return FLOAT * (source + self.places * (target + self.logits))


def room(device: torch.device, processes: Processes) -> float:
    """Give the bytes that a batch of each process may take; all processes get the same."""
    neighbours = int(os.environ.get("LOCAL_WORLD_SIZE", processes.count))
    sharing = neighbours if device.type == "cpu" else 1
    return min(processes.gather_each(SHARE * available_bytes(device) / sharing))


class Fitting:
    """Translates batches of jobs, in halves where memory runs out after all.

    How much was too much is remembered, so that later batches are cut before they fail.
    """

    def __init__(self, work: Callable[[list[Job]], list[Found]], config: SearchConfig) -> None:
        self.work = work
        self.config = config
        self.most = math.inf  # padded tokens of both sides

    def __call__(self, jobs: list[Job]) -> list[Found]:
        """Give what `work` gives for the jobs; raise `HanyiError` when not even one fits."""
        size = self._size(jobs)
        if size > self.most and len(jobs) > 1:
            return self._halves(jobs)
        try:
            return self.work(jobs)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if len(jobs) == 1:
                raise _no_room(jobs[0]) from error
        # Only here, where the error no longer keeps the tensors of the batch alive.
        torch.cuda.empty_cache()
        self.most = size * (len(jobs) - len(jobs) // 2) / len(jobs)  # of the larger half
        log.warning("memory ran out at %d sentences at once: they go on in halves", len(jobs))
        return self._halves(jobs)

    def _halves(self, jobs: list[Job]) -> list[Found]:
        middle = len(jobs) // 2
        return self(jobs[:middle]) + self(jobs[middle:])

    def _size(self, jobs: list[Job]) -> int:
        asked = [job.sentence(self.config) for job in jobs]
        longest = (max(one.src_len for one in asked), max(one.limit for one in asked))
        return len(jobs) * sum(longest)


def _no_room(job: Job) -> HanyiError:
    return HanyiError(
        "memory",
        f"no room for one sentence of {len(job.source)} tokens",
        "room for it",
        "free memory, lower decode.beam_size (or n_best of samples) or decode.max_length_ratio",
    )
