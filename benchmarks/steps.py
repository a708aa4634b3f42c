"""What each choice for the CPU is worth in a training step: `.venv/bin/python -m benchmarks.steps`.

One process, a synthetic corpus of sentence lengths. Whole steps of all variants take turns on the
same batches, so that whatever else the machine does slows them alike; a variant's time is the
median of its quotients with the step as it is, beside their quartiles. With one thread the clock
counts this process' time on a processor, else the time that passes. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks import step_variants as other
from hanyi.model import attention
from hanyi.model.config import ModelConfig
from hanyi.model.devices import keep_freed_memory, prepare_torch
from hanyi.model.transformer import Transformer
from hanyi.params import load_section
from hanyi.tokens.batches import padding, plan
from hanyi.tokens.vocab import BOS, PAD
from hanyi.training import loss
from hanyi.training.config import TrainConfig
from hanyi.training.data import Tensors
from hanyi.training.optimizer import make_optimizer

ROWS_PER_TOKEN = 5  # of the corpus, for each token of a batch: enough for tight batches
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h

LossOf = Callable[[Transformer, Tensors], Tensor]
Around = Callable[[], AbstractContextManager[None]]


@dataclasses.dataclass(frozen=True, slots=True)
class Size:
    """The model and its batches; `small` is the size that toolkits are compared at."""

    model: ModelConfig
    src_vocab: int
    tgt_vocab: int
    tokens: int


def sizes() -> dict[str, Size]:
    """Give the size in params.yaml with the vocabularies of Tatoeba, and a larger one."""
    model, train = load_section("model", ModelConfig), load_section("train", TrainConfig)
    small = dataclasses.replace(model, d_model=256, d_ff=1024, heads=4)
    return {
        "default": Size(model, 6000, 4000, train.batch_tokens),
        "small": Size(small, 8000, 8000, 4096),
    }


def batches(size: Size) -> list[Tensors]:
    """Give batches of random tokens with lengths such as sentences have."""
    rng = np.random.default_rng(1)
    rows = ROWS_PER_TOKEN * size.tokens
    src = np.clip(rng.lognormal(2.2, 0.5, rows), 2, 60).astype(np.int64)
    tgt = np.clip(src * rng.lognormal(0.1, 0.25, rows), 2, 60).astype(np.int64)
    listed = plan(src, tgt, tokens=size.tokens, seed=1, epoch=0)
    print(f"{len(listed)} batches, padding {padding(listed, src, tgt):.1%}\n")

    def fill(lengths: np.ndarray, vocab: int) -> np.ndarray:
        ids = rng.integers(4, vocab, (len(lengths), int(lengths.max()) + 1))
        ids[np.arange(ids.shape[1]) > lengths[:, None]] = PAD
        return ids

    filled = []
    for chosen in listed:
        source, target = fill(src[chosen], size.src_vocab), fill(tgt[chosen], size.tgt_vocab)
        shifted = np.roll(target, 1, axis=1)
        shifted[:, 0] = BOS
        shifted[target == PAD] = PAD
        arrays = (source, shifted, target, np.flatnonzero(target != PAD))
        filled.append(Tensors(*map(torch.from_numpy, arrays)))
    return filled


class Variant:
    """A model with its optimizer, and one way to make a step."""

    def __init__(
        self,
        size: Size,
        train: TrainConfig,
        loss: LossOf = other.as_it_is,
        around: Around = nullcontext,
        change: Callable[[Transformer], None] = lambda _: None,
    ) -> None:
        torch.manual_seed(1)
        self.model = Transformer(size.model, size.src_vocab, size.tgt_vocab).train()
        change(self.model)
        self.optimizer = make_optimizer(self.model, train)
        self.loss = loss
        self.around = around
        self.clip = partial(nn.utils.clip_grad_norm_, max_norm=1.0, foreach=True)

    def step(self, batch: Tensors, clock: Callable[[], float]) -> float:
        """Do one update; give its seconds."""
        with self.around():
            begun = clock()
            (self.loss(self.model, batch) / len(batch.real)).backward()
            self.clip(self.model.parameters())
            self.optimizer.step()
            self.optimizer.zero_grad()
            return clock() - begun


@contextmanager
def memory_given_back() -> Iterator[None]:
    """Set glibc to where its own rules arrive after a while."""
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(M_MMAP_THRESHOLD, 2**25)
    mallopt(M_TRIM_THRESHOLD, 2**26)
    yield
    keep_freed_memory()


def variants(size: Size, train: TrainConfig) -> dict[str, Callable[[], Variant]]:
    """Give the step as it is, and what it would be with each choice made another way."""
    make = partial(Variant, size, train)
    swapped = partial(partial, other.swapped)
    attend = partial(swapped, attention, "explicit_attention")

    def sized(**changes: object) -> Size:
        return dataclasses.replace(size, model=dataclasses.replace(size.model, **changes))

    def optimized(**options: bool) -> Variant:
        variant = make()
        variant.optimizer = torch.optim.AdamW(variant.model.parameters(), lr=1e-4, **options)
        return variant

    def clipped(**options: bool) -> Variant:
        variant = make()
        variant.clip = partial(nn.utils.clip_grad_norm_, max_norm=1.0, **options)
        return variant

    def compiled(dynamic: bool) -> Variant:
        variant = make()
        variant.model.compile(dynamic=dynamic)
        variant.model.encode = torch.compile(variant.model.encode, dynamic=dynamic)
        variant.model.decode = torch.compile(variant.model.decode, dynamic=dynamic)
        return variant

    return {
        "as it is": make,
        "as it is, once more": make,
        "freed memory given back": partial(make, around=memory_given_back),
        "float32 precision highest": partial(make, around=other.highest_precision),
        "token-wise layers on real tokens": partial(make, other.flattened_loss),
        "keys copied, then transposed": partial(make, around=attend(other.keys_copied_first)),
        "attention as one function": partial(make, around=attend(other.one_function)),
        "both: real tokens, one function": partial(
            make, other.flattened_loss, attend(other.one_function)
        ),
        "scaled_dot_product_attention": partial(Variant, sized(attention="fused"), train),
        "a product for each projection": partial(make, change=other.separate_projections),
        "memory projected in one product": partial(make, other.memory_in_one_product),
        "PyTorch's dropout": partial(make, change=other.torch_dropout),
        "dropout with residual": partial(make, change=other.dropout_with_residual),
        "no dropout": partial(Variant, sized(dropout=0.0), train),
        "PyTorch's loss, all positions": partial(make, other.plain_loss),
        "PyTorch's loss, real tokens": partial(make, other.real_tokens_loss),
        "loss in one chunk": partial(make, around=swapped(loss, "CHUNK", 2**30)),
        "loss in chunks of 256": partial(make, around=swapped(loss, "CHUNK", 256)),
        "AdamW foreach": partial(optimized, foreach=True),
        "AdamW for each tensor": partial(optimized, foreach=False),
        "clipping for each tensor": partial(clipped, foreach=False),
        "RMSNorm": partial(Variant, sized(norm_type="rms_norm"), train),
        "compiled, dynamic shapes": partial(compiled, dynamic=True),
    }


def main() -> None:
    """Measure and print."""
    listed = sizes()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=listed, default="default")
    parser.add_argument("--rounds", type=int, default=12, help="steps of each variant")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--only", default="", help="words in the names of variants, with commas")
    parser.add_argument("--without", default="compiled", help="words in names to leave out")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    prepare_torch()
    clock = time.process_time if chosen.threads == 1 else time.perf_counter
    size, train = listed[chosen.size], load_section("train", TrainConfig)
    work = batches(size)
    made = {
        name: make()
        for name, make in variants(size, train).items()
        if name == "as it is"
        or (
            any(word in name for word in chosen.only.split(","))
            and not any(word in name for word in chosen.without.split(",") if word)
        )
    }
    seconds: dict[str, list[float]] = {name: [] for name in made}
    for number in range(-2, chosen.rounds):
        for name, variant in made.items():
            took = variant.step(work[number % len(work)], clock)
            if number >= 0:
                seconds[name].append(took)
    base = seconds["as it is"]
    print("| step | time | quartiles | ms |\n|---|---|---|---|")
    for name, found in seconds.items():
        ratios = [a / b for a, b in zip(found, base, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        mean = math.fsum(found) / len(found) * 1e3
        print(f"| {name} | x{middle:.3f} | {low:.3f} to {high:.3f} | {mean:.0f} |", flush=True)


if __name__ == "__main__":
    main()
