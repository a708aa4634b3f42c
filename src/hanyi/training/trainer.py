"""The training loop: updates, validations, the best checkpoints, and exact resume."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hanyi.errors import HanyiError
from hanyi.model.devices import autocast_dtype
from hanyi.model.processes import ALONE, Processes
from hanyi.model.transformer import Transformer
from hanyi.training.averages import MovingAverage, Weights, average, set_weights, snapshot
from hanyi.training.compiled import Stacks, compiled, compiling_wanted
from hanyi.training.config import TrainConfig
from hanyi.training.data import Update
from hanyi.training.feed import Feed, Loaded
from hanyi.training.fit import largest
from hanyi.training.gradients import Gradients
from hanyi.training.guard import Guard
from hanyi.training.optimizer import make_optimizer
from hanyi.training.phases import Phase
from hanyi.training.progress import Checkpoint, Progress, better
from hanyi.training.report import Reporter
from hanyi.training.state import StateFolder
from hanyi.training.validation import Validator

log = logging.getLogger("hanyi.training")

LOOK_EVERY = 10  # updates between two looks at the loss; a look waits for the device


class Interrupted(Exception):  # noqa: N818  a wish, not an error
    """Training was asked to stop; its state is saved."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a finished training gives."""

    chosen: Checkpoint
    progress: Progress
    averaged: int  # checkpoints whose average is the best, 0: a single one is


class Trainer:
    """Trains a model; `run` may be called in a new process after any death of the last one."""

    def __init__(
        self,
        model: Transformer,
        phases: Sequence[Phase],
        validate: Validator,
        state: StateFolder,
        *,
        config: TrainConfig,
        reporter: Reporter,
        processes: Processes = ALONE,
    ) -> None:
        self.model = model
        self.phases = phases
        self.validate = validate
        self.state = state
        self.config = config
        self.reporter = reporter
        self.processes = processes
        self.device = next(model.parameters()).device
        self.optimizer = make_optimizer(model, config)
        self.gradients = Gradients(model, config, processes, self._stacks())
        self.guard = Guard(config.spike, self.device)
        self.mean = MovingAverage(model, config.ema)
        self.progress = Progress()
        self._pending: list[tuple[Tensor, int]] = []

    def run(self, stop: Callable[[], bool] = lambda: False) -> Outcome:
        """Train to the end, from the last saved state if there is one.

        `stop` is asked after each update; if true in any process, the state is saved and
        `Interrupted` raised. Raises `HanyiError` when training diverges.
        """
        self._resume()
        self.model.train()
        while True:
            self._run_phase(stop)
            if self.progress.phase == len(self.phases) - 1:
                return self._finish()
            self._enter_next_phase()

    @property
    def phase(self) -> Phase:
        """Give what is trained on now."""
        return self.phases[self.progress.phase]

    @property
    def dtype(self) -> torch.dtype | None:
        """Give the type that matrix products are computed in, None: that of the weights."""
        return None if self.progress.full_precision else precision(self.config, self.device)

    def _stacks(self) -> Stacks:
        if not compiling_wanted(self.device):
            return Stacks(self.model)
        longest = max(phase.data.longest for phase in self.phases)
        return compiled(self.model, dtype=precision(self.config, self.device), longest=longest)

    def _run_phase(self, stop: Callable[[], bool]) -> None:
        progress, config = self.progress, self.config
        end = progress.begun + self.phase.steps
        feed = Feed(self.phase.data, self.processes, self.device)
        self._probe(feed)
        updates = feed.updates_from(progress.epoch, progress.index)
        self.reporter.start(progress.step, end)
        while progress.step < end and not self._out_of_patience():
            self._update(next(updates))
            step = progress.step
            validating = (step - progress.begun) % config.validate_every == 0 or step == end
            if step % LOOK_EVERY == 0 or validating:
                self._look()
            if validating:
                self._validate()
            if validating or step % config.save_every == 0:
                self._save()
            if self.processes.any(stop()):
                self._save()
                raise Interrupted

    def _out_of_patience(self) -> bool:
        return 0 < self.config.patience <= self.progress.stale

    def _enter_next_phase(self) -> None:
        """Go on from the best weights with nothing remembered of the gradients so far."""
        progress = self.progress
        progress.early += self._out_of_patience()
        set_weights(self.model, progress.best[self.config.select].weights)
        self.optimizer = make_optimizer(self.model, self.config)
        self.guard.begin()
        self.mean.begin()
        progress.enter_next_phase()
        log.info("phase %d of %d begins", progress.phase + 1, len(self.phases))

    def _probe(self, feed: Feed) -> None:
        """Find out what fits into the memory of a GPU before the first update needs it."""
        if self.device.type != "cuda":
            return
        data = feed.data
        batches = [rows for update in data.updates(0) for rows in update]
        chosen = largest(batches, data.split.src_lengths, data.split.tgt_lengths)
        self.gradients.probe(feed.load(Update(0, 0, chosen)).batches, self.dtype)

    def _update(self, loaded: Loaded) -> None:
        progress, config = self.progress, self.config
        progress.step += 1
        progress.epoch, progress.index = loaded.update.epoch, loaded.update.index
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate()
        loss = self.gradients.add(loaded, progress.step, self.dtype)
        norm = torch.nn.utils.clip_grad_norm_(
            self.model.parameters(), config.clip or math.inf, foreach=True
        )
        # Read by the fused kernel, which then leaves weights and moments as they are.
        self.optimizer.found_inf = self.guard.skips(norm)  # type: ignore[attr-defined]
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.mean.update(progress.step - progress.begun)
        self._pending.append((loss, loaded.tokens))

    def _rate(self) -> float:
        return self.phase.rate(self.progress.step - self.progress.begun)

    def _look(self) -> None:
        """Read the losses since the last look; the device is not waited for in between."""
        if not self._pending:
            return
        progress = self.progress
        # Sums of float32 are exact in double, so it does not matter where a stop makes a look fall.
        loss_sum, tokens = 0.0, 0
        for loss, (_, count) in zip(self._losses(), self._pending, strict=True):
            if math.isfinite(loss):  # else the update was skipped
                loss_sum, tokens = loss_sum + loss, tokens + count
        self._pending.clear()
        self._check()
        progress.loss_sum += loss_sum
        progress.tokens += tokens
        self.reporter.look(
            progress.step,
            epoch=progress.epochs,
            loss_sum=loss_sum,
            tokens=tokens,
            rate=self._rate(),
        )

    def _losses(self) -> list[float]:
        """Give the loss of each pending update, summed over the processes."""
        own = torch.stack([loss for loss, _ in self._pending]).tolist()
        return [sum(shares) for shares in zip(*self.processes.gather_each(own), strict=True)]

    def _check(self) -> None:
        """Count skipped updates; after many in a row go on in full precision, or give up."""
        progress = self.progress
        skipped, in_a_row = self.guard.counts()
        if skipped > progress.skipped and self.processes.first:  # all know the same
            log.warning(
                "skipped %d updates up to %d: their gradients were no numbers or far too large",
                skipped - progress.skipped,
                progress.step,
            )
        progress.skipped = skipped
        # A finite gradient may have been the last one: its update can have spoilt the weights.
        weights = torch.stack([weights.sum() for weights in self.model.parameters()])
        if not weights.isfinite().all():
            raise _diverged(progress.step, "weights that are no numbers", self._rate())
        # Only at set updates, for a stop looks at any and must not change how training goes on.
        if in_a_row < LOOK_EVERY or progress.step % LOOK_EVERY:
            return
        if self.dtype is None:
            raise _diverged(progress.step, f"{in_a_row} skipped updates in a row", self._rate())
        log.warning("going on in float32: %d updates in a row were skipped", in_a_row)
        progress.full_precision = True
        self.guard.forgive()

    def _validate(self) -> None:
        progress = self.progress
        with self.mean.in_place():
            found = self.validate(self.model, self.dtype)
            weights = snapshot(self.model)
        row = progress.record(found, self._rate())
        if self.config.average > 1:
            progress.recent = [*progress.recent, weights][-self.config.average :]
        best = self.config.select in progress.compare(found, weights)
        progress.stale = 0 if best else progress.stale + 1
        self.reporter.validation(row, found, best=best)

    def _finish(self) -> Outcome:
        progress = self.progress
        progress.early += self._out_of_patience()
        chosen, averaged = progress.best[self.config.select], 0
        if len(progress.recent) > 1:
            mean = self._average(progress.recent)
            if better(self.config.select, mean.evaluation, chosen.evaluation):
                chosen, averaged = mean, len(progress.recent)
        set_weights(self.model, chosen.weights)
        self.model.eval()
        return Outcome(chosen, progress, averaged)

    def _average(self, recent: Sequence[Weights]) -> Checkpoint:
        weights = average(recent)
        set_weights(self.model, weights)
        found = self.validate(self.model, self.dtype)
        self.reporter.averaged(found, len(recent))
        return Checkpoint(self.progress.step, found, weights)

    def _save(self) -> None:
        self._look()
        if self.processes.first:
            payload: dict[str, Any] = {
                "weights": snapshot(self.model),
                "mean": self.mean.to_list(),
                "optimizer": self.optimizer.state_dict(),
                "guard": self.guard.to_tensor(),
                "budget": self.gradients.fit.budget,
                "progress": self.progress.to_dict(),
            }
            self.state.save(self.progress.step, payload)
        self.processes.any(False)  # nobody ends before the state is whole

    def _resume(self) -> None:
        payload = self.processes.broadcast(self.state.load() if self.processes.first else None)
        if payload is None:
            return
        set_weights(self.model, payload["weights"])
        self.mean.load(payload["mean"])
        self.optimizer.load_state_dict(payload["optimizer"])
        self.guard.load(payload["guard"])
        self.gradients.fit.lower(payload["budget"])  # HANYI_FIT_TOKENS may ask for even less
        self.progress = Progress.from_dict(payload["progress"])
        log.info("going on from the state after update %d", self.progress.step)


def precision(config: TrainConfig, device: torch.device) -> torch.dtype | None:
    """Give the type that a configuration asks for on a device."""
    if config.precision == "auto":
        return autocast_dtype(device)
    return torch.bfloat16 if config.precision == "bf16" else None


def _diverged(step: int, found: str, rate: float) -> HanyiError:
    return HanyiError(
        f"train: update {step}",
        f"{found} at learning rate {rate:.2g}",
        "finite numbers",
        "training diverged: lower train.learning_rate, raise train.warmup or train.batch_tokens, "
        "or raise train.spike if it is set",
    )
