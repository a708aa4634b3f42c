"""How far a training run is, and its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from hanyi.model.transformer import Transformer
from hanyi.training.validation import Evaluation, Sample

Weights = dict[str, Tensor]


@dataclass
class Progress:
    """Everything about a run that is neither weights nor optimizer; part of the saved state."""

    step: int = 0  # updates done
    epoch: int = 0
    index: int = 0  # of the next update in the epoch
    loss_sum: float = 0.0  # since the last validation, over `tokens`
    tokens: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    best: Evaluation | None = None
    best_step: int = 0
    best_weights: Weights = field(default_factory=dict)
    recent: list[Weights] = field(default_factory=list)  # the last checkpoints, to be averaged
    stale: int = 0  # validations since the best one

    def record(self, found: Evaluation, rate: float) -> dict[str, Any]:
        """Append a validation to the history, begin a new running average, and give the row."""
        row: dict[str, Any] = {
            "step": self.step,
            "epoch": self.epoch + 1,
            "train_loss": self.loss_sum / self.tokens,
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

    def to_dict(self) -> dict[str, Any]:
        """Give plain values and tensors, which `torch.load` reads without running pickled code."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**values, "best": asdict(self.best) if self.best else None}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Progress:
        """Take what `to_dict` gave."""
        best = values["best"]
        if best:
            samples = tuple(Sample(**sample) for sample in best["samples"])
            best = Evaluation(**{**best, "samples": samples})
        return cls(**{**values, "best": best})


def better(metric: str, found: Evaluation, than: Evaluation) -> bool:
    """Tell whether a model is truly better: lower in loss, higher in any other metric."""
    if metric == "loss":
        return found.loss < than.loss
    return found.value(metric) > than.value(metric)


def snapshot(model: Transformer) -> Weights:
    """Copy the weights to the CPU; a tied weight is there once."""
    return {
        name: parameter.detach().to("cpu", copy=True)
        for name, parameter in model.named_parameters()
    }


def average(checkpoints: Sequence[Weights]) -> Weights:
    """Give the mean of the weights, summed in double precision."""
    return {
        name: torch.stack([weights[name].double() for weights in checkpoints]).mean(0).float()
        for name in checkpoints[0]
    }
