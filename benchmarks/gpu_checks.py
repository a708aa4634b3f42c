"""Checks that a GPU computes what the CPU does, each against a plain way to the same numbers.

`benchmarks/gpu.py` prints them, `tests/gpu` asserts them; on the CPU they hold as well.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hanyi.model.config import ModelConfig
from hanyi.model.devices import prepare_torch
from hanyi.model.transformer import Transformer
from hanyi.params import parse, read_params
from hanyi.tokens.batches import Indices, plan
from hanyi.training.compiled import Stacks, compiled
from hanyi.training.config import TrainConfig
from hanyi.training.data import Tensors, load
from hanyi.training.feed import HOST
from hanyi.training.loss import sequence_loss
from hanyi.training.optimizer import make_optimizer

ROOT = Path(__file__).resolve().parent.parent
SMOOTHING = 0.1
FIRST_WORD = 4  # after the special tokens


class Sizes(NamedTuple):
    """A model and its work."""

    d_model: int
    heads: int
    d_ff: int
    layers: int
    vocab: int  # of either side


class Check(NamedTuple):
    """One number and where it should be."""

    name: str
    found: float
    limit: float
    at_least: bool = False  # else at most

    @property
    def holds(self) -> bool:
        """Tell whether the number is where it should be."""
        return self.found >= self.limit if self.at_least else self.found <= self.limit


class Sentences:
    """Random source sentences with lengths such as sentences have; the target mirrors them."""

    def __init__(self, rows: int, vocab: int, seed: int = 1, median: float = 22.0) -> None:
        rng = np.random.default_rng(seed)
        lengths = np.clip(rng.lognormal(np.log(median), 0.55, rows), 2, 120).astype(np.int64)
        extra = np.clip(rng.normal(0.0, 0.2, rows) * lengths, 1 - lengths, 20).astype(np.int64)
        self.src_lengths, self.tgt_lengths = lengths, lengths + extra
        # Frequent words are far more frequent than rare ones, as in a language.
        ranks = (rng.pareto(0.9, int(self.src_lengths.sum())) * 10).astype(np.int64)
        self._words = (FIRST_WORD + ranks % (vocab - FIRST_WORD)).astype(np.uint16)
        self._starts = np.cumsum(self.src_lengths) - self.src_lengths

    def src_flat(self, rows: Indices) -> NDArray[np.uint16]:
        """Give the source tokens of the rows, one after the other."""
        return np.concatenate([self._row(row, int(self.src_lengths[row])) for row in rows])

    def tgt_flat(self, rows: Indices) -> NDArray[np.uint16]:
        """Give the target tokens of the rows, one after the other."""
        return np.concatenate([self._row(row, int(self.tgt_lengths[row])) for row in rows])

    def _row(self, row: int, length: int) -> NDArray[np.uint16]:
        start, size = int(self._starts[row]), int(self.src_lengths[row])
        return self._words[start : start + size][np.arange(length) % size][::-1]

    def batches(self, tokens: int, most: int | None = None, multiple: int = 1) -> list[Tensors]:
        """Give the batches of an epoch, or `most` of them, filled up to a multiple, on the host."""
        planned = plan(self.src_lengths, self.tgt_lengths, tokens=tokens, seed=1, epoch=0)
        return [load(self, rows, HOST, multiple) for rows in planned[:most]]


class Learner:
    """A model that makes updates, always the same ones for the same seed."""

    def __init__(
        self,
        sizes: Sizes,
        device: torch.device,
        dtype: torch.dtype | None = None,
        **changes: Any,
    ) -> None:
        torch.manual_seed(1)
        config = model_config(sizes, **changes)
        self.device, self.dtype = device, dtype
        self.model = Transformer(config, sizes.vocab, sizes.vocab).to(device).train()
        self.stacks = Stacks(self.model)
        self.optimizer = make_optimizer(self.model, train_config())
        self.updates = 0

    def compile(self) -> Learner:
        """Go on with compiled layers."""
        self.stacks = compiled(self.model, dtype=self.dtype)
        return self

    def gradients(self, batch: Tensors) -> Tensor:
        """Add the gradients of a batch; give its summed loss, nats."""
        moved = batch.to(self.device)
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype is not None):
            total = sequence_loss(self.stacks, moved, SMOOTHING).total  # type: ignore[arg-type]
            (total / len(batch.real)).backward()
        return total.detach()

    def update(self, batch: Tensors) -> Tensor:
        """Make one update; give the loss before it, nats a token."""
        self.updates += 1
        torch.manual_seed(self.updates)
        loss = self.gradients(batch)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0, foreach=True)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss / len(batch.real)

    def curve(self, batches: Sequence[Tensors], updates: int) -> list[float]:
        """Give the loss of each update; the device is waited for once, at the end."""
        losses = [self.update(batches[number % len(batches)]) for number in range(updates)]
        return torch.stack(losses).tolist()

    def saved(self) -> io.BytesIO:
        """Give weights and optimizer as the trainer's state holds them."""
        file = io.BytesIO()
        torch.save([self.model.state_dict(), self.optimizer.state_dict(), self.updates], file)
        file.seek(0)
        return file

    def resume(self, file: io.BytesIO) -> Learner:
        """Take what `saved` gave."""
        weights, optimizer, self.updates = torch.load(file, map_location="cpu", weights_only=True)
        self.model.load_state_dict(weights)
        self.optimizer.load_state_dict(optimizer)
        return self


def model_config(sizes: Sizes, **changes: Any) -> ModelConfig:
    """Give the project's model section in other sizes, without dropout unless given."""
    section = read_params(ROOT / "params.yaml")["model"] | {
        "dropout": 0.0, "attention_dropout": 0.0, "decoder_layers": None,
    }  # fmt: skip
    own = {name: value for name, value in sizes._asdict().items() if name != "vocab"}
    return parse("model", ModelConfig, {**section, **own, **changes})


def train_config() -> TrainConfig:
    """Give the project's train section with a learning rate for all sizes."""
    section = parse("train", TrainConfig, read_params(ROOT / "params.yaml")["train"])
    return dataclasses.replace(section, learning_rate=0.0005)


@contextmanager
def exact_products() -> Iterator[None]:
    """Compute products of floats in full precision, so that no more than rounding differs."""
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        prepare_torch()


def apart(one: Learner, other: Learner) -> tuple[float, float]:
    """Give the cosine of two models' gradients, and the largest relative error of a parameter's.

    Errors are relative to the parameter's gradient, or to a hundredth of the whole one where that
    is more: some gradients (of key biases) are nothing but rounding.
    """
    ours, theirs = (
        [weights.grad.double().cpu() for weights in learner.model.parameters()]  # type: ignore[union-attr]
        for learner in (one, other)
    )
    flat = [torch.cat([gradient.flatten() for gradient in side]) for side in (ours, theirs)]
    whole = float(flat[1].norm())
    errors = [
        float((left - right).norm()) / max(float(right.norm()), 0.01 * whole)
        for left, right in zip(ours, theirs, strict=True)
    ]
    return float(torch.nn.functional.cosine_similarity(*flat, dim=0)), max(errors)


def same_gradients(
    name: str, one: Learner, other: Learner, batch: Tensors, limit: float
) -> list[Check]:
    """Compare the gradients of one batch."""
    for learner in (one, other):
        learner.gradients(batch)
    cosine, error = apart(one, other)
    return [
        Check(f"{name}: cosine of the gradients", cosine, 1 - limit**2, at_least=True),
        Check(f"{name}: largest relative error of a gradient", error, limit),
    ]


def bf16(sizes: Sizes, device: torch.device, batch: Tensors) -> list[Check]:
    """Compare bf16 with fp32."""
    with exact_products():
        low = Learner(sizes, device, torch.bfloat16)
        return same_gradients("bf16 against fp32", low, Learner(sizes, device), batch, 0.1)


def forms(sizes: Sizes, device: torch.device, batch: Tensors) -> list[Check]:
    """Compare fused with explicit attention."""
    with exact_products():
        fused = Learner(sizes, device, attention="fused")
        explicit = Learner(sizes, device, attention="explicit")
        return same_gradients("fused against explicit attention", fused, explicit, batch, 0.001)


def programs(sizes: Sizes, device: torch.device, batch: Tensors) -> list[Check]:
    """Compare compiled with plain layers."""
    with exact_products():
        fast = Learner(sizes, device).compile()
        plain = Learner(sizes, device)
        happened = fast.stacks.encode != fast.model.encode
        return [
            Check("compiling succeeds", float(happened), 1.0, at_least=True),
            *same_gradients("compiled against plain layers", fast, plain, batch, 0.001),
        ]


def curves(
    sizes: Sizes, device: torch.device, batches: Sequence[Tensors], updates: int
) -> list[Check]:
    """Compare a curve of losses with the CPU's, in fp32."""
    with exact_products():
        found = Learner(sizes, device).curve(batches, updates)
        expected = Learner(sizes, torch.device("cpu")).curve(batches, updates)
    differences = [abs(one / other - 1) for one, other in zip(found, expected, strict=True)]
    return [
        Check(
            f"{updates} updates against the CPU's: loss apart by a share of", max(differences), 0.01
        ),
        Check(f"{updates} updates: loss falls to a share of", found[-1] / found[0], 0.95),
    ]


def resumed(
    sizes: Sizes, device: torch.device, batches: Sequence[Tensors], updates: int
) -> list[Check]:
    """Compare a run that was saved and resumed half-way with an unbroken one, with dropout."""
    with exact_products():
        unbroken = Learner(sizes, device, dropout=0.1)
        unbroken.curve(batches, updates)
        first = Learner(sizes, device, dropout=0.1)
        first.curve(batches, updates)
        second = Learner(sizes, device, dropout=0.1).resume(first.saved())
        rest = (unbroken.curve(batches, updates), second.curve(batches, updates))
    differences = [abs(one / other - 1) for one, other in zip(*rest, strict=True)]
    return [Check("resumed against unbroken: loss apart by a share of", max(differences), 0.01)]
