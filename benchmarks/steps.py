"""What each choice for the CPU is worth in a training step: `.venv/bin/python -m benchmarks.steps`.

One process, a synthetic corpus of sentence lengths, the default sizes. Whole steps of all variants
take turns on the same batches, so that whatever else the machine does slows them alike; a variant's
time is the median of its quotients with the step as it is. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from hanyi.model.config import ModelConfig
from hanyi.model.devices import prepare_torch
from hanyi.model.dropout import Dropout
from hanyi.model.transformer import Transformer
from hanyi.params import load_section
from hanyi.tokens.batches import padding, plan
from hanyi.tokens.vocab import PAD
from hanyi.training.config import TrainConfig
from hanyi.training.data import Tensors
from hanyi.training.loss import sequence_loss
from hanyi.training.optimizer import make_optimizer

ROWS = 4000
SRC_VOCAB, TGT_VOCAB = 6000, 4000

LossOf = Callable[[Transformer, Tensors], Tensor]


def batches(tokens: int) -> list[Tensors]:
    """Give batches of random tokens with lengths such as sentences have."""
    rng = np.random.default_rng(1)
    src = np.clip(rng.lognormal(2.2, 0.5, ROWS), 2, 60).astype(np.int64)
    tgt = np.clip(src * rng.lognormal(0.1, 0.25, ROWS), 2, 60).astype(np.int64)
    listed = plan(src, tgt, tokens=tokens, seed=1, epoch=0)
    print(f"{len(listed)} batches, padding {padding(listed, src, tgt):.1%}\n")

    def fill(lengths: np.ndarray, vocab: int) -> Tensor:
        ids = rng.integers(4, vocab, (len(lengths), int(lengths.max()) + 1))
        ids[np.arange(ids.shape[1]) > lengths[:, None]] = PAD
        return torch.from_numpy(ids)

    filled = []
    for rows in listed:
        target = fill(tgt[rows], TGT_VOCAB)
        filled.append(Tensors(fill(src[rows], SRC_VOCAB), target, target))
    return filled


def as_it_is(model: Transformer, batch: Tensors) -> Tensor:
    """Give the loss of hanyi.training.loss."""
    return sequence_loss(model, batch, 0.1).total


def plain_loss(model: Transformer, batch: Tensors) -> Tensor:
    """Give PyTorch's loss on every position, PAD ignored."""
    logits = model(batch.src, batch.tgt_in).flatten(0, 1)
    return F.cross_entropy(
        logits, batch.tgt_out.flatten(), label_smoothing=0.1, ignore_index=PAD, reduction="sum"
    )


def real_tokens_loss(model: Transformer, batch: Tensors) -> Tensor:
    """Give PyTorch's loss on real tokens only."""
    hidden = model.decode(batch.tgt_in, model.encode(batch.src))
    real = batch.tgt_out != PAD
    return F.cross_entropy(
        model.output(hidden[real]), batch.tgt_out[real], label_smoothing=0.1, reduction="sum"
    )


class Variant:
    """A model with its optimizer, and one way to make a step."""

    def __init__(self, config: ModelConfig, train: TrainConfig, loss: LossOf = as_it_is) -> None:
        torch.manual_seed(1)
        self.model = Transformer(config, SRC_VOCAB, TGT_VOCAB).train()
        self.optimizer = make_optimizer(self.model, train)
        self.loss = loss
        self.around: Callable[[], contextmanager[None]] = no_change

    def step(self, batch: Tensors) -> float:
        """Do one update; give its seconds."""
        with self.around():
            begun = time.perf_counter()
            (self.loss(self.model, batch) / 1000).backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            return time.perf_counter() - begun


@contextmanager
def no_change() -> Iterator[None]:
    """Leave PyTorch as it is."""
    yield


@contextmanager
def highest_precision() -> Iterator[None]:
    """Compute matrix products as PyTorch does by default."""
    torch.set_float32_matmul_precision("highest")
    yield
    prepare_torch()


def with_torch_dropout(variant: Variant) -> Variant:
    """Put PyTorch's dropout in the place of ours."""
    for module in list(variant.model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, Dropout):
                setattr(module, name, nn.Dropout(child.probability))
    return variant


def variants(config: ModelConfig, train: TrainConfig) -> dict[str, Variant]:
    """Give the step as it is, and what it would be without each choice."""
    fused = dataclasses.replace(config, attention="fused")
    made = {
        "as it is": Variant(config, train),
        "PyTorch's dropout": with_torch_dropout(Variant(config, train)),
        "no dropout": Variant(dataclasses.replace(config, dropout=0.0), train),
        "PyTorch's loss, real tokens": Variant(config, train, real_tokens_loss),
        "PyTorch's loss, all positions": Variant(config, train, plain_loss),
        "scaled_dot_product_attention": Variant(fused, train),
        "AdamW for each tensor": Variant(config, train),
        "float32 precision highest": Variant(config, train),
    }
    single = made["AdamW for each tensor"]
    single.optimizer = torch.optim.AdamW(single.model.parameters(), foreach=False)
    made["float32 precision highest"].around = highest_precision
    return made


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12, help="steps of each variant")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    prepare_torch()
    train = load_section("train", TrainConfig)
    listed = batches(train.batch_tokens)
    made = variants(load_section("model", ModelConfig), train)
    seconds: dict[str, list[float]] = {name: [] for name in made}
    tokens = 0
    for number in range(-2, chosen.rounds):
        batch = listed[number % len(listed)]
        for name, variant in made.items():
            took = variant.step(batch)
            if number >= 0:
                seconds[name].append(took)
        tokens += int((batch.tgt_out != PAD).sum()) if number >= 0 else 0
    base = seconds["as it is"]
    print("| step | time | target tokens/s |\n|---|---|---|")
    for name, found in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(found, base, strict=True))
        print(f"| {name} | x{ratio:.2f} | {tokens / sum(found):.0f} |")
    print(f"\nfastest step as it is: {tokens / chosen.rounds / min(base):.0f} target tokens/s")


if __name__ == "__main__":
    main()
