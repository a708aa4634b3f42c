"""The `train` section of params.yaml."""

from __future__ import annotations

from typing import Literal

from hanyi.metrics.lexical import QUICK
from hanyi.params import at_least, config, one_of
from hanyi.training.schedule import SCHEDULES


@config
class FinetuneConfig:
    """The second stage of a training: other weights of the corpora, a smaller learning rate."""

    max_steps: int
    weights: dict[str, float]
    learning_rate: float
    warmup: int

    def __post_init__(self) -> None:
        """Check ranges."""
        for name in ("max_steps", "warmup"):
            at_least(name, getattr(self, name), 0)
        for corpus, weight in self.weights.items():
            if not 0 <= weight < float("inf"):
                raise ValueError(f"weights.{corpus} must be 0 or more, got {weight}")
        _rate(self.learning_rate)
        if self.max_steps and not any(self.weights.values()):
            raise ValueError("weights must name a corpus to finetune on, e.g. {hsk: 1}")


@config
class TrainConfig:
    """How the model is trained; params.yaml says what each number counts."""

    init: str | None
    seed: int
    batch_tokens: int
    accumulate: int
    max_steps: int | None
    max_epochs: int | None
    schedule: str
    learning_rate: float
    warmup: int
    betas: tuple[float, float]
    weight_decay: float
    clip: float
    label_smoothing: float
    bpe_dropout: float
    r_drop: float
    spike: float
    validate_every: int
    validate_rows: int
    save_every: int
    select: str
    patience: int
    average: int
    ema: float
    precision: Literal["auto", "fp32", "bf16"]
    finetune: FinetuneConfig

    def __post_init__(self) -> None:
        """Check ranges, and names against their registries."""
        for name in ("batch_tokens", "accumulate", "validate_every", "validate_rows", "save_every"):
            at_least(name, getattr(self, name), 1)
        at_least("average", self.average, 1)
        for name in ("seed", "warmup", "weight_decay", "clip", "patience"):
            at_least(name, getattr(self, name), 0)
        if self.seed >= 2**63:  # the most that PyTorch takes
            raise ValueError(f"seed must be under 2^63, got {self.seed}")
        if self.max_steps is None and self.max_epochs is None:
            raise ValueError("max_steps or max_epochs must be a number, got null for both")
        at_least("max_steps", 1 if self.max_steps is None else self.max_steps, 1)
        at_least("max_epochs", 1 if self.max_epochs is None else self.max_epochs, 1)
        one_of("schedule", self.schedule, SCHEDULES)
        one_of("select", self.select, ("loss", *QUICK))
        _rate(self.learning_rate)
        for name in ("label_smoothing", "bpe_dropout", "ema"):
            _share(name, getattr(self, name))
        if not 0 <= self.r_drop < float("inf"):
            raise ValueError(f"r_drop must be 0 or more, got {self.r_drop}")
        if self.spike and not 1 < self.spike < float("inf"):
            raise ValueError(f"spike must be 0 or over 1, got {self.spike}")
        for beta in self.betas:
            _share("betas", beta)


def _rate(value: float) -> None:
    if not 0.0 < value <= 1.0:
        raise ValueError(f"learning_rate must be over 0 and at most 1, got {value}")


def _share(name: str, value: float) -> None:
    if not 0.0 <= value < 1.0:
        raise ValueError(f"{name} must be at least 0 and under 1, got {value}")
