"""The phases of a training: the mix of all corpora, then, if asked for, the finetuning on some."""

from __future__ import annotations

from dataclasses import dataclass

from hanyi.errors import DataError
from hanyi.tokens.shards import EncodedSplit
from hanyi.training.config import TrainConfig
from hanyi.training.data import TrainingData
from hanyi.training.schedule import learning_rate
from hanyi.training.segments import Segmenter

FINETUNE_SCHEDULE = "linear"


@dataclass(frozen=True, slots=True)
class Phase:
    """What is learnt from, for how many updates, and at which learning rates."""

    data: TrainingData
    steps: int
    schedule: str
    peak: float
    warmup: int

    def rate(self, step: int) -> float:
        """Give the learning rate of an update of the phase; the first is 1."""
        return learning_rate(
            self.schedule, step, peak=self.peak, warmup=self.warmup, total=self.steps
        )


def make_phases(
    split: EncodedSplit, config: TrainConfig, segmenter: Segmenter | None = None
) -> list[Phase]:
    """Give the phases of a training in their order.

    Raises `DataError` when a phase has no rows, or names a corpus that is not there.
    """
    data = TrainingData(split, config, segmenter=segmenter)
    phases = [Phase(data, data.steps(), config.schedule, config.learning_rate, config.warmup)]
    second = config.finetune
    if second.max_steps:
        if unknown := set(second.weights) - set(split.corpora):
            raise DataError(
                "params.yaml: train.finetune.weights",
                ", ".join(sorted(unknown)),
                f"names among {', '.join(split.corpora)}",
                "name corpora that have train rows",
            )
        weights = [second.weights.get(name, 0.0) for name in split.corpora]
        data = TrainingData(split, config, weights, segmenter)
        phases.append(
            Phase(data, second.max_steps, FINETUNE_SCHEDULE, second.learning_rate, second.warmup)
        )
    return phases
