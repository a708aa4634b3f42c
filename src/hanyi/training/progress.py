"""How far a training run is, and its checkpoints."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from hanyi.metrics.lexical import QUICK
from hanyi.training.averages import Weights
from hanyi.training.validation import Evaluation, Sample

CRITERIA = ("loss", *QUICK)
"""What a checkpoint can be the best by."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The weights after an update, and what they are worth."""

    step: int
    evaluation: Evaluation
    weights: Weights


@dataclass
class Progress:
    """Everything about a run that is neither weights nor optimizer; part of the saved state."""

    step: int = 0  # updates done
    phase: int = 0  # of the training
    begun: int = 0  # updates done before this phase
    passed: int = 0  # epochs of the phases before
    epoch: int = 0  # of the phase's data
    index: int = 0  # of the next update in the epoch
    loss_sum: float = 0.0  # since the last validation, over `tokens`
    tokens: int = 0
    skipped: int = 0  # updates that would have spoilt the weights
    full_precision: bool = False  # after trouble with a lower one
    stale: int = 0  # validations since the best one
    early: int = 0  # phases that ended for want of a better validation
    history: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, Checkpoint] = field(default_factory=dict)  # by criterion
    recent: list[Weights] = field(default_factory=list)  # the last checkpoints, to be averaged

    @property
    def epochs(self) -> int:
        """Count the epochs that were begun, in all phases."""
        return self.passed + self.epoch + 1

    def record(self, found: Evaluation, rate: float) -> dict[str, Any]:
        """Append a validation to the history, begin a new running average, and give the row."""
        row: dict[str, Any] = {
            "step": self.step,
            "epoch": self.epochs,
            "train_loss": self.loss_sum / self.tokens if self.tokens else math.nan,
            "valid_loss": found.loss,
            "perplexity": found.perplexity,
            **found.scores,
            "learning_rate": rate,
            "corpora": found.corpora,
            "samples": [asdict(sample) for sample in found.samples],
        }
        self.history.append(row)
        self.loss_sum, self.tokens = 0.0, 0
        return row

    def compare(self, found: Evaluation, weights: Weights) -> set[str]:
        """Keep the weights where they are the best so far; give by which criteria they are."""
        won = {
            name
            for name in CRITERIA
            if name not in self.best or better(name, found, self.best[name].evaluation)
        }
        self.best |= dict.fromkeys(won, Checkpoint(self.step, found, weights))
        return won

    def enter_next_phase(self) -> None:
        """Begin the next phase: its data, its patience and its checkpoints to average are new."""
        self.phase, self.begun, self.passed = self.phase + 1, self.step, self.epochs
        self.epoch = self.index = self.stale = 0
        self.recent = []

    def to_dict(self) -> dict[str, Any]:
        """Give plain values and tensors, which `torch.load` reads without running pickled code."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        best = {
            name: {
                "step": kept.step,
                "evaluation": asdict(kept.evaluation),
                "weights": kept.weights,
            }
            for name, kept in self.best.items()
        }
        return {**values, "best": best}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Progress:
        """Take what `to_dict` gave."""
        best = {
            name: Checkpoint(kept["step"], _evaluation(kept["evaluation"]), kept["weights"])
            for name, kept in values["best"].items()
        }
        return cls(**{**values, "best": best})


def better(criterion: str, found: Evaluation, than: Evaluation) -> bool:
    """Tell whether a model is truly better: lower in loss, higher in any other metric.

    Any loss is better than one that is no number.
    """
    if criterion == "loss":
        return found.loss < than.loss or (math.isnan(than.loss) and not math.isnan(found.loss))
    return found.value(criterion) > than.value(criterion)


def _evaluation(values: dict[str, Any]) -> Evaluation:
    samples = tuple(Sample(**sample) for sample in values["samples"])
    return Evaluation(**{**values, "samples": samples})
