"""What a training run tells while it goes: log lines and live metrics; never an output."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hanyi.scoring.metrics import LABELS
from hanyi.training.validation import Evaluation

log = logging.getLogger("hanyi.training")

Publish = Callable[[Mapping[str, float], int], None]

SECONDS_BETWEEN_LINES = 5.0
METRICS_EVERY = 50  # updates between two points of the live curve


class Reporter:
    """Turns events of the trainer into log lines and, through `publish`, into live metrics."""

    def __init__(self, publish: Publish, padding: float) -> None:
        """Report to `publish(values, step)`; `padding` is the share of PAD in the batches."""
        self._publish = publish
        self._padding = padding
        self._total = 0
        self._first = 0
        self._begun = 0.0
        self._told = -math.inf  # so that the first look is shown at once
        self._line = _Window()
        self._metrics = _Window()

    def start(self, step: int, total: int) -> None:
        """Begin at a step, which is not 0 after a resume."""
        self._first, self._total = step, total
        self._begun = time.monotonic()
        self._line, self._metrics = _Window(), _Window()

    def look(self, step: int, *, epoch: int, loss_sum: float, tokens: int, rate: float) -> None:
        """Take in the updates since the last look; show where training is now and then."""
        for window in (self._line, self._metrics):
            window.loss_sum += loss_sum
            window.tokens += tokens
        if step % METRICS_EVERY == 0:
            values = {"train_loss": self._metrics.loss, "tokens_per_second": self._metrics.speed}
            self._publish({**values, "learning_rate": rate, "epoch": epoch}, step)
            self._metrics = _Window()
        now = time.monotonic()
        if now - self._told < SECONDS_BETWEEN_LINES and step < self._total:
            return
        left = (now - self._begun) / (step - self._first) * (self._total - step)
        log.info(
            "update %d of %d, epoch %d: loss %.3f, learning rate %.2g, %.0f target tokens/s, "
            "padding %.1f%%, %s left",
            step,
            self._total,
            epoch,
            self._line.loss,
            rate,
            self._line.speed,
            100 * self._padding,
            clock(left),
        )
        self._line, self._told = _Window(), now

    def validation(self, row: Mapping[str, Any], found: Evaluation, *, best: bool) -> None:
        """Show a validation with its sample translations."""
        log.info(
            "valid after update %d: loss %.3f (train %.3f), perplexity %.2f, %s%s",
            row["step"],
            found.loss,
            row["train_loss"],
            found.perplexity,
            _scores(found),
            ", the best so far" if best else "",
        )
        for sample in found.samples:
            log.info("  %s | %s | %s", sample.src, sample.reference, sample.hypothesis)
        values = {"valid_loss": found.loss, "perplexity": found.perplexity, **found.scores}
        for name, scores in found.corpora.items():
            values |= {f"{name}.{metric}": value for metric, value in scores.items()}
        self._publish(values, row["step"])
        self._line, self._metrics = _Window(), _Window()  # a validation is no training time

    def averaged(self, found: Evaluation, count: int) -> None:
        """Show the validation of averaged weights."""
        log.info("average of %d checkpoints: loss %.3f, %s", count, found.loss, _scores(found))


@dataclass
class _Window:
    """Some updates: their summed loss, target tokens and time."""

    loss_sum: float = 0.0
    tokens: int = 0
    begun: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    @property
    def loss(self) -> float:
        return self.loss_sum / self.tokens

    @property
    def speed(self) -> float:
        return self.tokens / max(self.seconds, 1e-9)


def clock(seconds: float) -> str:
    """Write a duration as minutes and seconds, hours when it is long: 1:05 or 2:00:07."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _scores(found: Evaluation) -> str:
    parts = []
    for name, value in found.scores.items():
        each = ", ".join(f"{corpus} {scores[name]:.1f}" for corpus, scores in found.corpora.items())
        parts.append(f"{LABELS.get(name, name)} {value:.1f}" + (f" ({each})" if each else ""))
    return ", ".join(parts)
