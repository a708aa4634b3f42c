"""What a training run tells while it goes: a bar or lines, and live metrics; never an output."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hanyi.metrics.lexical import LABELS
from hanyi.progress import Bar, clock, on_terminal
from hanyi.training.validation import Evaluation

log = logging.getLogger("hanyi.training")

Publish = Callable[[Mapping[str, float], int], None]

SECONDS_BETWEEN_LINES = 5.0
SECONDS_ON_A_BAR = 1.0  # until loss and speed are taken anew
METRICS_EVERY = 50  # updates between two points of the live curve


class Reporter:
    """Turns events of the trainer into lines or a bar and, through `publish`, into live metrics."""

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
        self._bar: Bar | None = None

    @contextmanager
    def shown(self) -> Iterator[Reporter]:
        """Show a bar instead of lines, if there is a terminal, until the training ends."""
        if not on_terminal():
            yield self
            return
        with Bar("train", "updates").shown() as self._bar:
            yield self
        self._bar = None

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
        self._tell(step, epoch, rate)

    def _tell(self, step: int, epoch: int, rate: float) -> None:
        now = time.monotonic()
        seconds = SECONDS_ON_A_BAR if self._bar else SECONDS_BETWEEN_LINES
        if now - self._told < seconds and step < self._total:
            if self._bar:
                self._bar.show(step, self._total)
            return
        left = clock((now - self._begun) / (step - self._first) * (self._total - step))
        loss, speed = self._line.loss, f"{self._line.speed:.0f} target tokens/s"
        padding = f"padding {100 * self._padding:.1f}%"
        if self._bar:
            self._bar.show(step, self._total, f", loss {loss:.3f}, {speed}, {padding}, {left} left")
        else:
            log.info(
                "update %d of %d, epoch %d: loss %.3f, learning rate %.2g, %s, %s, %s left",
                step,
                self._total,
                epoch,
                loss,
                rate,
                speed,
                padding,
                left,
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
    begun: float = field(init=False)

    def __post_init__(self) -> None:
        self.begun = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    @property
    def loss(self) -> float:
        return self.loss_sum / self.tokens if self.tokens else math.nan  # all were skipped

    @property
    def speed(self) -> float:
        return self.tokens / max(self.seconds, 1e-9)


def _scores(found: Evaluation) -> str:
    parts = []
    for name, value in found.scores.items():
        each = ", ".join(f"{corpus} {scores[name]:.1f}" for corpus, scores in found.corpora.items())
        parts.append(f"{LABELS.get(name, name)} {value:.1f}" + (f" ({each})" if each else ""))
    return ", ".join(parts)
