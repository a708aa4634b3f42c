"""What a training run tells while it goes: log lines and live metrics; never an output."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from hanyi.training.progress import Progress
from hanyi.training.validation import Evaluation

log = logging.getLogger("hanyi.training")

Publish = Callable[[Mapping[str, float], int], None]

SCORES = {"bleu": "BLEU", "chrf": "chrF"}


class Reporter:
    """Turns events of the trainer into log lines and, through `publish`, into live metrics."""

    def __init__(self, publish: Publish, padding: float) -> None:
        """Report to `publish(values, step)`; `padding` is the share of PAD in the batches."""
        self._publish = publish
        self._padding = padding
        self._total = 0
        self._first = 0
        self._begun = self._marked = time.monotonic()
        self._tokens = 0

    def start(self, step: int, total: int) -> None:
        """Begin at a step, which is not 0 after a resume."""
        self._first, self._total = step, total
        self._begun = self._marked = time.monotonic()

    def update(self, tokens: int) -> None:
        """Count the target tokens of an update."""
        self._tokens += tokens

    def look(self, progress: Progress, loss: float, rate: float) -> None:
        """Show where training is."""
        now = time.monotonic()
        speed = self._tokens / max(now - self._marked, 1e-9)
        self._tokens, self._marked = 0, now
        left = (now - self._begun) / max(progress.step - self._first, 1)
        left *= self._total - progress.step
        log.info(
            "update %d of %d, epoch %d: loss %.3f, learning rate %.2g, %.0f target tokens/s, "
            "padding %.1f%%, %s left",
            progress.step,
            self._total,
            progress.epoch + 1,
            loss,
            rate,
            speed,
            100 * self._padding,
            clock(left),
        )
        self._publish(
            {"train_loss": loss, "learning_rate": rate, "tokens_per_second": speed}, progress.step
        )

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
        self._marked = time.monotonic()

    def averaged(self, found: Evaluation, count: int) -> None:
        """Show the validation of averaged weights."""
        log.info("average of %d checkpoints: loss %.3f, %s", count, found.loss, _scores(found))


def clock(seconds: float) -> str:
    """Write a duration as minutes and seconds, hours when it is long: 1:05 or 2:00:07."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _scores(found: Evaluation) -> str:
    parts = []
    for name, value in found.scores.items():
        each = ", ".join(f"{corpus} {scores[name]:.1f}" for corpus, scores in found.corpora.items())
        parts.append(f"{SCORES.get(name, name)} {value:.1f}" + (f" ({each})" if each else ""))
    return ", ".join(parts)
