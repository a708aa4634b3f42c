"""The gradient of an update: over its batches, over the processes, in the chosen precision."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from hanyi.model.processes import ALONE, Processes
from hanyi.model.transformer import Transformer
from hanyi.training.compiled import Stacks
from hanyi.training.config import TrainConfig
from hanyi.training.data import Tensors
from hanyi.training.feed import Loaded
from hanyi.training.fit import Fit
from hanyi.training.loss import sequence_loss


class TeacherForcing(nn.Module):
    """The loss as a module, which is what DistributedDataParallel wraps."""

    def __init__(self, model: Transformer, stacks: Stacks, config: TrainConfig) -> None:
        super().__init__()
        self.model = model  # whose parameters these are
        self.stacks = stacks
        self.smoothing = config.label_smoothing
        self.r_drop = config.r_drop

    def forward(self, batch: Tensors) -> Tensor:
        """Give the summed loss of a batch, nats."""
        return sequence_loss(self.stacks, batch, self.smoothing, self.r_drop).total


class Gradients:
    """Adds up what each batch, and each process' share of it, says about the weights.

    All batches of an update are divided by one count of target tokens, so that the gradient is that
    of one large batch, however it is cut.
    """

    def __init__(
        self,
        model: Transformer,
        config: TrainConfig,
        processes: Processes = ALONE,
        stacks: Stacks | None = None,
    ) -> None:
        """Use the model's layers as they are, unless they were compiled."""
        self.seed = config.seed
        self.processes = processes
        self.device = next(model.parameters()).device
        self.fit = Fit.from_environment(restarts=processes.count == 1)
        self.loss: nn.Module = TeacherForcing(model, stacks or Stacks(model), config)
        if processes.count > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                # Buffers are tables that every process computes for itself.
                self.loss = DistributedDataParallel(
                    self.loss, broadcast_buffers=False, gradient_as_bucket_view=True
                )

    def add(self, loaded: Loaded, step: int, dtype: torch.dtype | None) -> Tensor:
        """Add the gradients of update `step`; give this process' share of the summed loss, nats."""

        def work(parts: list[Tensors]) -> Tensor:
            self._draw_anew(step)
            return self._sum(parts, loaded.tokens, dtype, exchange=True)

        return self.fit.run(loaded.batches, work, self._discard)

    def probe(self, batches: Sequence[Tensors], dtype: torch.dtype | None) -> None:
        """Find what fits into memory, in all processes the same, before the first update."""
        self.fit.probe(
            batches, lambda parts: self._sum(parts, 1, dtype, exchange=False), self._discard
        )
        self.fit.lower(*self.processes.gather_each(self.fit.budget))

    def _sum(
        self, parts: list[Tensors], tokens: int, dtype: torch.dtype | None, *, exchange: bool
    ) -> Tensor:
        total = torch.zeros((), device=self.device)
        for number, part in enumerate(parts):
            batch = part.to(self.device)
            last = exchange and number == len(parts) - 1
            with self._exchange(last):
                with torch.autocast(self.device.type, dtype, enabled=dtype is not None):
                    loss = self.loss(batch)
                # DistributedDataParallel gives the mean over processes; the sum is wanted.
                (loss * (self.processes.count / tokens)).backward()
            total += loss.detach()
        return total

    def _exchange(self, now: bool) -> AbstractContextManager[None]:
        """Exchange gradients once for an update, with its last batch."""
        if isinstance(self.loss, DistributedDataParallel) and not now:
            return self.loss.no_sync()
        return nullcontext()

    def _discard(self) -> None:
        self.loss.zero_grad()

    def _draw_anew(self, step: int) -> None:
        """Let the position decide all that is random, so that no state of it needs to be kept."""
        # A last number keeps these draws apart from those of the data.
        drawn = np.random.SeedSequence([self.seed, step, self.processes.rank, 2])
        torch.manual_seed(int(drawn.generate_state(1, np.uint64)[0]))
