"""The training data as updates: which batches make each update of each epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hanyi.errors import DataError
from hanyi.tokens.batches import Lines, collate, padding, plan
from hanyi.tokens.shards import EncodedSplit
from hanyi.training.config import TrainConfig

if TYPE_CHECKING:
    from hanyi.training.segments import Segmenter

Rows = NDArray[np.int64]


class Tensors(NamedTuple):
    """A batch, filled up with PAD."""

    src: Tensor  # [batch, src_len], EOS included
    tgt_in: Tensor  # [batch, tgt_len], BOS and the tokens
    tgt_out: Tensor  # [batch, tgt_len], the tokens and EOS
    real: Tensor  # [tokens], where the real target tokens stand in the flat tgt_out

    def to(self, device: torch.device) -> Tensors:
        """Copy to a device; from pinned memory nobody waits for it."""
        return Tensors(*(ids.to(device, non_blocking=True) for ids in self))

    def pinned(self) -> Tensors:
        """Copy to memory from which a GPU reads by itself."""
        return Tensors(*(ids.pin_memory() for ids in self))


class Part(NamedTuple):
    """Rows to put into a batch, and where their tokens are."""

    lines: Lines
    rows: Rows

    @property
    def target_tokens(self) -> int:
        """Count the real target tokens, EOS included."""
        return int(self.lines.tgt_lengths[self.rows].sum()) + len(self.rows)


@dataclass(frozen=True, slots=True)
class Update:
    """The batches of one update, and the position in the data after it."""

    epoch: int
    index: int  # of the next update in the epoch
    batches: list[Rows]


def load(lines: Lines, rows: Rows, device: torch.device, multiple: int = 1) -> Tensors:
    """Put rows onto a device, both lengths and the number of rows filled up to a multiple."""
    return Tensors(*map(torch.from_numpy, collate(lines, rows, multiple))).to(device)


class TrainingData:
    """Computes the updates of any epoch; a position in the data is (epoch, index of the update).

    Raises `DataError` when the weights of the corpora leave no row to train on.
    """

    def __init__(
        self,
        split: EncodedSplit,
        config: TrainConfig,
        weights: Sequence[float] | None = None,
        segmenter: Segmenter | None = None,
    ) -> None:
        """Use the split's own weights of corpora unless others are given, one for each corpus."""
        self.split = split
        self._config = config
        self._weights = split.weights if weights is None else weights
        self._segmenter = segmenter
        self._epoch = -1
        self._updates: list[list[Rows]] = []
        if not np.array(self._weights)[split.corpus].any():
            told = ", ".join(
                f"{name} {weight:g}"
                for name, weight in zip(split.corpora, self._weights, strict=True)
            )
            raise DataError(
                "params.yaml: fetch.corpora" if weights is None else "params.yaml: train.finetune",
                f"no rows to train on with the weights {told}",
                "a weight over 0",
                "raise the weight of a corpus that has train rows",
            )

    def updates(self, epoch: int) -> list[list[Rows]]:
        """Give an epoch's updates, each a list of batches; the last may hold fewer batches.

        An epoch has none when small weights happen to choose no row.
        """
        if epoch != self._epoch:
            batches, size = self._plan(epoch), self._config.accumulate
            self._updates = [batches[i : i + size] for i in range(0, len(batches), size)]
            self._epoch = epoch
        return self._updates

    def updates_from(self, epoch: int, index: int) -> Iterator[Update]:
        """Give update after update from a position on, without end."""
        while True:
            updates = self.updates(epoch)
            for number in range(index, len(updates)):
                yield Update(epoch, number + 1, updates[number])
            epoch, index = epoch + 1, 0

    def parts(self, update: Update) -> list[Part]:
        """Give the batches of an update, segmented anew where BPE-dropout asks for it."""
        if self._segmenter is None:
            return [Part(self.split, rows) for rows in update.batches]
        # A fourth number keeps these draws apart from those of plan() and weighted().
        rng = np.random.default_rng([self._config.seed, update.epoch, update.index, 1])
        return [
            Part(self._segmenter(self.split, rows, rng), np.arange(len(rows)))
            for rows in update.batches
        ]

    def steps(self) -> int:
        """Give the number of updates of the whole training, one at least."""
        config = self._config
        if config.max_epochs is None:
            assert config.max_steps is not None  # one of the two is given
            return config.max_steps
        steps = 0
        for epoch in range(config.max_epochs):
            steps += -(-len(self._plan(epoch)) // config.accumulate)
            if config.max_steps and steps >= config.max_steps:
                return config.max_steps
        return max(steps, 1)

    @property
    def longest(self) -> int:
        """Give the tokens of the longest side, the special one included."""
        return 1 + int(max(self.split.src_lengths.max(), self.split.tgt_lengths.max()))

    def padding(self) -> float:
        """Give the share of PAD in the first epoch."""
        batches = [rows for update in self.updates(0) for rows in update]
        return padding(batches, self.split.src_lengths, self.split.tgt_lengths)

    def _plan(self, epoch: int) -> list[Rows]:
        split, config = self.split, self._config
        return plan(
            split.src_lengths,
            split.tgt_lengths,
            tokens=config.batch_tokens,
            seed=config.seed,
            epoch=epoch,
            rows=weighted(split.corpus, self._weights, config.seed, epoch),
        )


def weighted(corpus: NDArray[np.uint8], weights: Sequence[float], seed: int, epoch: int) -> Rows:
    """Give the rows of an epoch, a pure function of its arguments.

    A row of a corpus of weight w occurs floor(w) times, and a share w - floor(w) of its rows, drawn
    anew for each epoch, once more. A share that is no whole number of rows is rounded up or down by
    chance, so that the mean over epochs is exact.
    """
    exact = [Fraction(str(weight)) for weight in weights]  # 0.1 means a tenth, not its double
    times = np.array([int(weight) for weight in exact], np.int64)[corpus]
    for number, weight in enumerate(exact):
        if weight.denominator == 1:
            continue
        rows = np.flatnonzero(corpus == number)
        # A stream of its own: plan() draws from [seed, epoch].
        rng = np.random.default_rng([seed, epoch, 1 + number])
        whole, rest = divmod(weight % 1 * len(rows), 1)
        more = whole + bool(rng.random() < rest)
        times[rng.choice(rows, more, replace=False, shuffle=False)] += 1
    return np.repeat(np.arange(len(corpus)), times)
