"""The training data as updates: which batches make each update of each epoch."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hanyi.errors import ParamsError
from hanyi.tokens.batches import collate, padding, plan
from hanyi.tokens.shards import EncodedSplit
from hanyi.training.config import TrainConfig

log = logging.getLogger("hanyi.training")

Rows = NDArray[np.int64]


class Tensors(NamedTuple):
    """A batch on a device, filled up with PAD."""

    src: Tensor  # [batch, src_len], EOS included
    tgt_in: Tensor  # [batch, tgt_len], BOS and the tokens
    tgt_out: Tensor  # [batch, tgt_len], the tokens and EOS


def load(split: EncodedSplit, rows: Rows, device: torch.device) -> Tensors:
    """Put the rows of a split onto a device."""
    batch = collate(split, rows)
    return Tensors(*(torch.from_numpy(ids).to(device, non_blocking=True) for ids in batch))


class TrainingData:
    """Computes the updates of any epoch; a position in the data is (epoch, index of the update)."""

    def __init__(self, split: EncodedSplit, config: TrainConfig) -> None:
        self.split = split
        self._config = config
        self._rows = repeated(split.corpus, split.corpora, config.repeats)
        self._epoch = -1
        self._updates: list[list[Rows]] = []

    def updates(self, epoch: int) -> list[list[Rows]]:
        """Give an epoch's updates, each a list of batches; the last may hold fewer batches."""
        if epoch != self._epoch:
            batches, size = self._plan(epoch), self._config.accumulate
            self._updates = [batches[i : i + size] for i in range(0, len(batches), size)]
            self._epoch = epoch
        return self._updates

    def steps(self) -> int:
        """Give the number of updates of the whole training, each epoch as long as the first."""
        config = self._config
        limits = [config.max_steps] if config.max_steps else []
        if config.max_epochs:
            limits.append(config.max_epochs * len(self.updates(0)))
        return min(limits)

    def target_tokens(self, batches: list[Rows]) -> int:
        """Count the real target tokens, EOS included."""
        return sum(int(self.split.tgt_lengths[rows].sum()) + len(rows) for rows in batches)

    def padding(self) -> float:
        """Give the share of PAD in the first epoch."""
        batches = [rows for update in self.updates(0) for rows in update]
        return padding(batches, self.split.src_lengths, self.split.tgt_lengths)

    def _plan(self, epoch: int) -> list[Rows]:
        return plan(
            self.split.src_lengths,
            self.split.tgt_lengths,
            tokens=self._config.batch_tokens,
            seed=self._config.seed,
            epoch=epoch,
            rows=self._rows,
        )


def repeated(
    corpus: NDArray[np.uint8], corpora: tuple[str, ...], repeats: Mapping[str, int]
) -> Rows:
    """Give the rows of an epoch, those of each corpus as often as `repeats` says, once by default.

    A corpus that is not there is told and passed over: the weights of the starter's parts must not
    stop somebody who trains on their own files. Raises `ParamsError` when no row is left.
    """
    for name in sorted(set(repeats) - set(corpora)):
        there = ", ".join(corpora)
        log.warning("train.repeats.%s: no such corpus among %s; passed over", name, there)
    times = np.array([repeats.get(name, 1) for name in corpora], np.int64)
    rows = np.repeat(np.arange(len(corpus)), times[corpus])
    if not len(rows):
        raise ParamsError("train.repeats", "no rows to train on", "one at least", "repeat a corpus")
    return rows
