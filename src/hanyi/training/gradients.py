"""The gradient of an update: over its batches, over the processes, in the chosen precision."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from hanyi.model.processes import ALONE, Processes
from hanyi.model.transformer import Transformer
from hanyi.training.config import TrainConfig
from hanyi.training.data import Part, Tensors, load
from hanyi.training.loss import sequence_loss


class TeacherForcing(nn.Module):
    """The loss as a module, which is what DistributedDataParallel wraps."""

    def __init__(self, model: Transformer, config: TrainConfig) -> None:
        super().__init__()
        self.model = model
        self.smoothing = config.label_smoothing
        self.r_drop = config.r_drop

    def forward(self, batch: Tensors) -> Tensor:
        """Give the summed loss of a batch, nats."""
        return sequence_loss(self.model, batch, self.smoothing, *([self.r_drop] if self.r_drop else [])).total


class Gradients:
    """Adds up what each batch, and each process' share of it, says about the weights.

    All batches of an update are divided by one count of target tokens, so that the gradient is that
    of one large batch, however it is cut.
    """

    def __init__(
        self, model: Transformer, config: TrainConfig, processes: Processes = ALONE
    ) -> None:
        self.seed = config.seed
        self.processes = processes
        self.device = next(model.parameters()).device
        self.loss: nn.Module = TeacherForcing(model, config)
        if processes.count > 1:
            # Buffers are tables that every process computes for itself.
            self.loss = DistributedDataParallel(
                self.loss, broadcast_buffers=False, gradient_as_bucket_view=True
            )

    def add(self, parts: Sequence[Part], step: int, dtype: torch.dtype | None) -> Tensor:
        """Add the gradients of update `step`; give this process' share of the summed loss, nats."""
        self._draw_anew(step)
        tokens = sum(part.target_tokens for part in parts)
        total = torch.zeros((), device=self.device)
        for number, part in enumerate(parts):
            rows = np.asarray(self.processes.share(part.rows), np.int64)
            # With fewer rows than processes, one without any still has to take part.
            idle = not len(rows)
            batch = load(part.lines, part.rows[:1] if idle else rows, self.device)
            last = number == len(parts) - 1
            with (
                self._exchange(last),
                torch.autocast(self.device.type, dtype, enabled=dtype is not None),
            ):
                loss = self.loss(batch) * (not idle)
                # DistributedDataParallel gives the mean over processes; the sum is wanted.
                (loss * (self.processes.count / tokens)).backward()
            total += loss.detach()
        return total

    def _exchange(self, last: bool) -> AbstractContextManager[None]:
        """Exchange gradients once for an update, with its last batch."""
        if isinstance(self.loss, DistributedDataParallel) and not last:
            return self.loss.no_sync()
        return nullcontext()

    def _draw_anew(self, step: int) -> None:
        """Let the position decide all that is random, so that no state of it needs to be kept."""
        # A last number keeps these draws apart from those of the data.
        drawn = np.random.SeedSequence([self.seed, step, self.processes.rank, 2])
        torch.manual_seed(int(drawn.generate_state(1, np.uint64)[0]))
