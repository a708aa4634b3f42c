"""Updates as tensors: segmented, shared out to the processes, collated, on a GPU ahead of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from hanyi.ahead import ahead
from hanyi.model.processes import Processes
from hanyi.training.data import Part, Tensors, TrainingData, Update, load

HOST = torch.device("cpu")
AHEAD = 4  # updates; on a GPU


@dataclass(frozen=True, slots=True)
class Loaded:
    """This process' share of an update, in the memory of the host."""

    update: Update
    tokens: int  # real target tokens of all processes
    batches: list[Tensors]


class Feed:
    """Loads updates; a GPU gets them from pinned memory, collated while it computes."""

    def __init__(self, data: TrainingData, processes: Processes, device: torch.device) -> None:
        self.data = data
        self.processes = processes
        self.gpu = device.type == "cuda"

    def updates_from(self, epoch: int, index: int) -> Iterator[Loaded]:
        """Give update after update from a position on, without end."""
        updates = self.data.updates_from(epoch, index)
        return ahead(self.load, updates, threads=int(self.gpu), depth=AHEAD)

    def load(self, update: Update) -> Loaded:
        """Load one update."""
        parts = self.data.parts(update)
        tokens = sum(part.target_tokens for part in parts)
        return Loaded(update, tokens, [self._share(part) for part in parts])

    def _share(self, part: Part) -> Tensors:
        rows = np.asarray(self.processes.share(part.rows), np.int64)
        if len(rows):
            batch = load(part.lines, rows, HOST)
        else:
            # With fewer rows than processes, one without any still has to take part.
            batch = load(part.lines, part.rows[:1], HOST)
            batch = batch._replace(real=batch.real[:0])
        return batch.pinned() if self.gpu else batch
