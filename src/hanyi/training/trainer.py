"""The training loop: updates, validations, the best checkpoint, and exact resume."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hanyi.errors import HanyiError
from hanyi.model.devices import autocast_dtype
from hanyi.model.transformer import Transformer
from hanyi.training.config import TrainConfig
from hanyi.training.data import Rows, TrainingData, load
from hanyi.training.loss import sequence_loss
from hanyi.training.optimizer import make_optimizer
from hanyi.training.progress import Progress, average, better, snapshot
from hanyi.training.report import Reporter
from hanyi.training.schedule import learning_rate
from hanyi.training.state import StateFolder
from hanyi.training.validation import Evaluation, Validator

log = logging.getLogger("hanyi.training")

LOOK_EVERY = 10  # updates between two looks at the loss; a look waits for the device


class Interrupted(Exception):  # noqa: N818  a wish, not an error
    """Training was asked to stop; its state is saved."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a finished training gives; the model holds the best weights."""

    best: Evaluation
    progress: Progress
    averaged: int  # checkpoints whose average is the best, 0: a single one is
    stopped_early: bool


class Trainer:
    """Trains a model; `run` may be called in a new process after any death of the last one."""

    def __init__(
        self,
        model: Transformer,
        data: TrainingData,
        validate: Validator,
        state: StateFolder,
        *,
        config: TrainConfig,
        reporter: Reporter,
    ) -> None:
        self.model = model
        self.data = data
        self.validate = validate
        self.state = state
        self.config = config
        self.reporter = reporter
        self.device = next(model.parameters()).device
        self.dtype = precision(config.precision, self.device)
        self.optimizer = make_optimizer(model, config)
        self.total = data.steps()
        self.progress = Progress()
        self._pending: list[tuple[Tensor, int]] = []

    def run(self, stop: Callable[[], bool] = lambda: False) -> Outcome:
        """Train to the end, from the last saved state if there is one.

        `stop` is asked after each update; if true, the state is saved and `Interrupted` raised.
        Raises `HanyiError` when the loss is no number any more.
        """
        self._resume()
        self.model.train()
        self.reporter.start(self.progress.step, self.total)
        while not self._finished():
            self._update()
            step = self.progress.step
            validating = step % self.config.validate_every == 0 or step == self.total
            if step % LOOK_EVERY == 0 or validating:
                self._look()
            if validating:
                self._validate()
            if validating or step % self.config.save_every == 0:
                self._save()
            if stop():
                self._save()
                raise Interrupted
        return self._finish()

    def _finished(self) -> bool:
        return self.progress.step >= self.total or self._stopped_early()

    def _stopped_early(self) -> bool:
        return 0 < self.config.patience <= self.progress.stale

    def _update(self) -> None:
        progress, config = self.progress, self.config
        batches = self._next_batches()
        tokens = self.data.target_tokens(batches)
        progress.step += 1
        rate = self._rate(progress.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        losses = [self._backward(rows, tokens) for rows in batches]
        if config.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self._pending.append((torch.stack(losses).sum(), tokens))

    def _next_batches(self) -> list[Rows]:
        progress = self.progress
        # More than one step ahead where small weights leave an epoch without rows.
        while progress.index == len(self.data.updates(progress.epoch)):
            progress.epoch, progress.index = progress.epoch + 1, 0
        batches = self.data.updates(progress.epoch)[progress.index]
        progress.index += 1
        return batches

    def _backward(self, rows: Rows, tokens: int) -> Tensor:
        """Add a batch's gradient; all batches of an update share one count of target tokens."""
        batch = load(self.data.split, rows, self.device)
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype is not None):
            loss = sequence_loss(self.model, batch, self.config.label_smoothing)
        (loss.total / tokens).backward()  # type: ignore[no-untyped-call]
        return loss.total.detach()

    def _rate(self, step: int) -> float:
        config = self.config
        return learning_rate(
            config.schedule,
            step,
            peak=config.learning_rate,
            warmup=config.warmup,
            total=self.total,
        )

    def _look(self) -> None:
        """Read the losses since the last look; the device is not waited for in between."""
        if not self._pending:
            return
        progress = self.progress
        before = progress.loss_sum, progress.tokens
        losses = torch.stack([loss for loss, _ in self._pending]).tolist()
        # A finite loss may have been the last one: its update can have spoilt the weights.
        sound = torch.stack([weights.sum() for weights in self.model.parameters()]).isfinite().all()
        first = progress.step - len(losses) + 1
        for step, (loss, (_, tokens)) in enumerate(zip(losses, self._pending, strict=True), first):
            if not math.isfinite(loss):
                raise _diverged(step, f"a loss of {loss}", self._rate(step))
            progress.loss_sum += loss
            progress.tokens += tokens
        if not sound:
            raise _diverged(progress.step, "weights that are no numbers", self._rate(progress.step))
        self._pending.clear()
        self.reporter.look(
            progress.step,
            epoch=progress.epoch + 1,
            loss_sum=progress.loss_sum - before[0],
            tokens=progress.tokens - before[1],
            rate=self._rate(progress.step),
        )

    def _validate(self) -> None:
        progress = self.progress
        found = self.validate(self.model, self.dtype)
        weights = snapshot(self.model)
        row = progress.record(found, self._rate(progress.step))
        if self.config.average > 1:
            progress.recent = [*progress.recent, weights][-self.config.average :]
        if progress.best is None or better(self.config.select, found, progress.best):
            progress.best, progress.best_step, progress.best_weights = found, progress.step, weights
            progress.stale = 0
        else:
            progress.stale += 1
        self.reporter.validation(row, found, best=progress.best_step == progress.step)

    def _finish(self) -> Outcome:
        progress, averaged = self.progress, 0
        assert progress.best is not None  # the last update is always validated
        weights, best = progress.best_weights, progress.best
        if len(progress.recent) > 1:
            mean = average(progress.recent)
            self._set_weights(mean)
            found = self.validate(self.model, self.dtype)
            self.reporter.averaged(found, len(progress.recent))
            if better(self.config.select, found, best):
                weights, best, averaged = mean, found, len(progress.recent)
        self._set_weights(weights)
        self.model.eval()
        return Outcome(best, progress, averaged, self._stopped_early())

    def _set_weights(self, weights: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(weights[name])

    def _save(self) -> None:
        self._look()
        payload: dict[str, Any] = {
            "weights": snapshot(self.model),
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "progress": self.progress.to_dict(),
        }
        if self.device.type == "cuda":
            payload["random_cuda"] = torch.cuda.get_rng_state(self.device)
        self.state.save(self.progress.step, payload)

    def _resume(self) -> None:
        payload = self.state.load()
        if payload is None:
            return
        self._set_weights(payload["weights"])
        self.optimizer.load_state_dict(payload["optimizer"])
        self.progress = Progress.from_dict(payload["progress"])
        torch.set_rng_state(payload["random"])
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(payload["random_cuda"], self.device)
        log.info("going on from the state after update %d", self.progress.step)


def precision(name: str, device: torch.device) -> torch.dtype | None:
    """Give the type that matrix products are computed in, None: that of the weights."""
    if name == "auto":
        return autocast_dtype(device)
    return torch.bfloat16 if name == "bf16" else None


def _diverged(step: int, found: str, rate: float) -> HanyiError:
    return HanyiError(
        f"train: update {step}",
        f"{found} at learning rate {rate:.2g}",
        "finite numbers",
        "training diverged: lower train.learning_rate, or raise train.warmup or train.batch_tokens",
    )
