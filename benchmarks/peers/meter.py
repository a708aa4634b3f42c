"""One meter for all systems, inside the process of each; the optimizer's own steps are its clock.

Real tokens are counted from the tensors that enter the model. The clock starts after a few updates
and stops, together with the process, when enough was seen.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import torch
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_post_hook

from benchmarks.peers.task import Task


class Meter:
    """Counts batches and updates; ends the process and leaves the result when done."""

    def __init__(self, task: Task, version: str) -> None:
        self.task = task
        self.version = version
        self.seen = 0  # updates
        self.first = 0.0  # seconds from the start of the process to the end of the first update
        self.settled = 0.0  # when other work, such as loading ahead, should be done
        self.skipped = 0  # updates before the measured ones, at least one
        self.begun = 0.0  # of the measured time
        self.ended = 0.0  # of the last update
        self.between = 0.0  # seconds between updates: loading, logging
        self.waiting = True  # for the first batch of an update
        self.counts = dict.fromkeys(COUNTS, 0)
        register_optimizer_step_post_hook(lambda *_: self.update())

    def batch(self, src: Tensor, tgt: Tensor, pad: int, tgt_pad: int | None = None) -> None:
        """Count a batch that is about to be computed.

        `src` is `[batch, src_len]` and `tgt`, the tokens to predict, `[batch, tgt_len]`.
        """
        if self.waiting:
            self.between += time.perf_counter() - self.ended
        self.waiting = False
        src_lengths = (src != pad).sum(1).double()
        tgt_lengths = (tgt != (pad if tgt_pad is None else tgt_pad)).sum(1).double()
        for name, value in {
            "rows": (src_lengths > 0).sum(),
            "src_tokens": src_lengths.sum(),
            "tgt_tokens": tgt_lengths.sum(),
            "src_places": src.numel(),
            "tgt_places": tgt.numel(),
            "src_src": src_lengths.square().sum(),
            "src_tgt": (src_lengths * tgt_lengths).sum(),
            "tgt_tgt": tgt_lengths.square().sum(),
        }.items():
            self.counts[name] += int(value)

    def update(self) -> None:
        """Note the end of an update."""
        if self.waiting:  # an optimizer inside another one
            return
        now = self.ended = time.perf_counter()
        self.waiting = True
        self.seen += 1
        if self.seen == 1:
            self.first, self.settled = time.time() - self.task.begun, now + self.task.settle
        if not self.skipped:
            if self.seen >= self.task.warm_up and now >= self.settled:
                self.skipped, self.begun, self.between = self.seen, now, 0.0
                self.counts = dict.fromkeys(COUNTS, 0)
            return
        updates = self.seen - self.skipped
        if updates >= self.task.updates and now - self.begun >= self.task.seconds:
            self._finish(updates)

    def _finish(self, updates: int) -> None:
        found = {
            "version": self.version,
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "first": self.first,
            "updates": updates,
            "seconds": self.ended - self.begun,
            "between": self.between,
            **self.counts,
        }
        Path(self.task.result).write_text(json.dumps(found), encoding="utf-8")
        os._exit(0)  # neither a last checkpoint nor workers that wait are of interest


COUNTS = (
    "rows",
    "src_tokens",
    "tgt_tokens",
    "src_places",
    "tgt_places",
    "src_src",
    "src_tgt",
    "tgt_tgt",
)
"""Tokens are real ones, places hold PAD as well; products are summed over the sentences."""
