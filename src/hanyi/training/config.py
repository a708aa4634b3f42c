"""The `train` section of params.yaml."""

from __future__ import annotations

from typing import Literal

from hanyi.params import at_least, config, one_of
from hanyi.scoring.metrics import METRICS
from hanyi.training.schedule import SCHEDULES


@config
class TrainConfig:
    """How the model is trained; params.yaml says what each number counts."""

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
    validate_every: int
    validate_rows: int
    save_every: int
    select: str
    patience: int
    average: int
    precision: Literal["auto", "fp32", "bf16"]

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
        one_of("select", self.select, ("loss", *METRICS))
        if not 0.0 < self.learning_rate <= 1.0:
            raise ValueError(
                f"learning_rate must be over 0 and at most 1, got {self.learning_rate}"
            )
        _share("label_smoothing", self.label_smoothing)
        for beta in self.betas:
            _share("betas", beta)


def _share(name: str, value: float) -> None:
    if not 0.0 <= value < 1.0:
        raise ValueError(f"{name} must be at least 0 and under 1, got {value}")
