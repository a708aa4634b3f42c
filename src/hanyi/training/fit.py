"""Batches fitted into memory: cut by rows where they are too large, with the same update."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from hanyi.errors import HanyiError, ParamsError
from hanyi.model.memory import is_out_of_memory
from hanyi.tokens.batches import Lengths
from hanyi.training.data import Tensors

log = logging.getLogger("hanyi.training")

VARIABLE = "HANYI_FIT_TOKENS"

Result = TypeVar("Result")


class Fit:
    """Finds how many padded tokens of a side fit into memory at once.

    The gradients of an update's batches are summed and divided by one count of tokens, so a batch
    that is cut by rows gives the same update to rounding (other dropout is drawn). A cut that was
    needed once is kept for the rest of the run.
    """

    def __init__(self, budget: int | None = None, *, restarts: bool = True) -> None:
        """Begin with a budget in padded tokens of a side, None: whatever the batches have.

        Without `restarts` memory that runs out in `run` is an error: several processes that
        exchange gradients cannot begin an update again.
        """
        self.budget = budget
        self.restarts = restarts

    @classmethod
    def from_environment(cls, *, restarts: bool = True) -> Fit:
        """Begin with the budget that HANYI_FIT_TOKENS gives.

        It is no parameter, since it changes no update by more than rounding.
        """
        asked = os.environ.get(VARIABLE, "")
        if asked and (not asked.isdecimal() or not int(asked)):
            raise ParamsError(
                VARIABLE, repr(asked), "padded tokens of a batch, from 1", "mend or unset it"
            )
        return cls(int(asked) if asked else None, restarts=restarts)

    def lower(self, *budgets: int | None) -> None:
        """Go down to the smallest of other budgets, unless the own one is smaller still."""
        known = [budget for budget in (self.budget, *budgets) if budget]
        self.budget = min(known, default=None)

    def cut(self, batches: Sequence[Tensors]) -> list[Tensors]:
        """Cut batches by rows into parts within the budget, each of one row at least."""
        return [part for batch in batches for part in self._cut(batch)]

    def run(
        self,
        batches: Sequence[Tensors],
        work: Callable[[list[Tensors]], Result],
        discard: Callable[[], None],
    ) -> Result:
        """Give `work` of all batches of an update, cut to what fits.

        When memory runs out, `discard` throws away what has been summed up so far, and the work
        begins again with parts of half the size. Raises `HanyiError` when one row does not fit.
        """
        return self._run(batches, work, discard, restarts=self.restarts)

    def probe(
        self,
        batches: Sequence[Tensors],
        work: Callable[[list[Tensors]], object],
        discard: Callable[[], None],
    ) -> None:
        """Find the budget before the first update, by work on the largest batches.

        What it gives is thrown away; the blocks of memory that it needed stay cached.
        """
        for batch in batches:
            self._run([batch], work, discard, restarts=True)
            discard()

    def _run(
        self,
        batches: Sequence[Tensors],
        work: Callable[[list[Tensors]], Result],
        discard: Callable[[], None],
        *,
        restarts: bool,
    ) -> Result:
        parts = first = self.cut(batches)
        while True:
            try:
                result = work(parts)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                if not restarts:
                    raise _no_restart(_largest(parts)) from error
            else:
                if parts is not first:
                    _tell(first, parts)
                return result
            # Only out of the handler are the failed pass and all that it held gone.
            discard()
            torch.cuda.empty_cache()
            self._halve(parts)
            parts = self.cut(batches)

    def _halve(self, parts: Sequence[Tensors]) -> None:
        if all(len(part.src) == 1 for part in parts):
            raise _too_large(_largest(parts))
        size = max(padded_tokens(part) for part in parts if len(part.src) > 1)
        self.budget = max(1, size // 2)

    def _cut(self, batch: Tensors) -> list[Tensors]:
        rows, size = len(batch.src), padded_tokens(batch)
        if self.budget is None or size <= self.budget or rows == 1:
            return [batch]
        most = max(1, self.budget * rows // size)
        parts = [_rows(batch, start, start + most) for start in range(0, rows, most)]
        # Rows that fill up a batch have no tokens to learn from.
        return [part for part in parts if len(part.real)] or parts[:1]


def padded_tokens(batch: Tensors) -> int:
    """Count the positions of the longer side, PAD included."""
    return max(batch.src.numel(), batch.tgt_out.numel())


def largest(
    batches: Sequence[NDArray[np.int64]], src_lengths: Lengths, tgt_lengths: Lengths
) -> list[NDArray[np.int64]]:
    """Give the batches of a plan that need the most memory: the largest, and the longest."""
    shapes = [
        (len(rows), int(src_lengths[rows].max()) + 1, int(tgt_lengths[rows].max()) + 1)
        for rows in batches
    ]
    sizes = [rows * (src + tgt) for rows, src, tgt in shapes]
    attention = [rows * max(src, tgt) ** 2 for rows, src, tgt in shapes]
    chosen = dict.fromkeys(int(np.argmax(values)) for values in (sizes, attention) if values)
    return [batches[number] for number in chosen]


def _rows(batch: Tensors, start: int, stop: int) -> Tensors:
    """Give rows of a batch in the memory of the host."""
    columns = batch.tgt_out.size(1)
    at, end = np.searchsorted(batch.real.numpy(), (start * columns, stop * columns)).tolist()
    src, tgt_in, tgt_out = (side[start:stop] for side in (batch.src, batch.tgt_in, batch.tgt_out))
    return Tensors(src, tgt_in, tgt_out, batch.real[at:end] - start * columns)


def _largest(parts: Sequence[Tensors]) -> Tensors:
    return max(parts, key=padded_tokens)


def _tell(first: Sequence[Tensors], parts: Sequence[Tensors]) -> None:
    log.warning(
        "batches of %d padded tokens do not fit into memory; going on with %d, %d to an update, "
        "the update stays the same",
        padded_tokens(_largest(first)),
        padded_tokens(_largest(parts)),
        len(parts),
    )


def _too_large(part: Tensors) -> HanyiError:
    return HanyiError(
        "train: memory",
        f"no room for one sentence pair of {part.src.size(1)} and {part.tgt_out.size(1)} tokens",
        "room for the model and the longest pair",
        "lower encode.max_tokens or the sizes of the model",
    )


def _no_restart(part: Tensors) -> HanyiError:
    size = padded_tokens(part)
    return HanyiError(
        "train: memory",
        f"no room for a batch of {size} padded tokens in one of several processes",
        "room in each",
        f"run the same command again with {VARIABLE}={max(1, size // 2)}",
    )
