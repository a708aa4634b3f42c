"""What each choice is worth in a decoding step: `.venv/bin/python -m benchmarks.decode_step`.

One process with one thread, random weights of the size that toolkits are compared at, forced
translations of 30 tokens, beam 5. Whole batches of all variants take turns, so that whatever else
the machine does slows them alike; the clock is the processor time of this process, and a variant's
time is the median of its quotients with the search as it is. `--profile` tells instead where the
time goes. Prints Markdown.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from benchmarks import step_variants as other
from benchmarks.steps import Size, sizes
from hanyi.decoding import beam
from hanyi.decoding.config import PLAIN
from hanyi.decoding.search import search
from hanyi.decoding.sentences import Sentence
from hanyi.model import quantized
from hanyi.model.cache import Cache
from hanyi.model.devices import prepare_torch
from hanyi.model.transformer import Transformer
from hanyi.tokens.vocab import EOS

LENGTH = 30  # tokens of a translation
SEARCH = dataclasses.replace(PLAIN, beam_size=5)
CPU = torch.device("cpu")

KINDS = {
    "products of layers and output": (
        "mm",
        "addmm",
        "linear_with_input_q_dq_qweight_dq_output_fp32",
    ),
    "products of attention": ("bmm",),
    "log softmax over the vocabulary": ("_log_softmax",),
    "best tokens": ("topk",),
    "copies (heads apart and together, rows)": ("copy_", "cat", "index_select", "clone", "gather"),
    "softmax of attention": ("_softmax",),
    "layer norms": ("native_layer_norm",),
    "scales of rows": ("abs", "amax", "div", "addcmul", "mul_"),
    "sums element by element": ("add", "add_"),
    "activation": ("relu_", "clamp_min_"),
}

Around = Callable[[], AbstractContextManager[None]]


class Variant:
    """A model, and what is another way while it translates."""

    def __init__(
        self,
        size: Size,
        change: Callable[[Transformer], None] = lambda _: None,
        around: Around = nullcontext,
        mode: Callable[[], AbstractContextManager[object]] = torch.no_grad,
    ) -> None:
        torch.manual_seed(1)
        self.model = Transformer(size.model, size.src_vocab, size.tgt_vocab).eval()
        change(self.model)
        self.around = around
        self.mode = mode

    def translate(self, src: Tensor) -> float:
        """Translate a batch; give the seconds."""
        sentences = [Sentence(src.size(1), LENGTH) for _ in src]
        with self.around(), self.mode():
            begun = time.process_time()
            cache = self.model.start(self.model.encode(src), SEARCH.beam_size)
            search(self.step, cache, sentences, SEARCH, CPU)
            return time.process_time() - begun

    def step(self, tokens: Tensor, cache: Cache) -> Tensor:
        """Do what the model does, but never end."""
        logits = self.model.step(tokens, cache)
        logits[:, EOS] = -1e9
        return logits


def quantize_all(model: Transformer) -> None:
    """Quantize small layers too."""
    with other.swapped(quantized, "WORTH_IT", 0):
        quantized.quantize(model)


def variants(size: Size) -> dict[str, Callable[[], Variant]]:
    """Give the search as it is, and what it would be with each choice made another way."""
    make = partial(Variant, size)
    fused = dataclasses.replace(size, model=dataclasses.replace(size.model, attention="fused"))
    topk = partial(other.swapped, beam, "best_tokens", Tensor.topk)
    return {
        "as it is": make,
        "as it is, once more": make,
        "8-bit large products": partial(make, quantized.quantize),
        "8-bit products, all": partial(make, quantize_all),
        "best tokens by one topk": partial(make, around=topk),
        "scaled_dot_product_attention": partial(Variant, fused),
        "inference_mode": partial(make, mode=torch.inference_mode),
        "float32 precision highest": partial(make, around=other.highest_precision),
    }


def batch(size: Size, sentences: int) -> Tensor:
    """Give random sources `[sentences, 25]`."""
    rng = np.random.default_rng(1)
    return torch.from_numpy(rng.integers(EOS + 1, size.src_vocab, (sentences, 25)))


def shares(variant: Variant, src: Tensor) -> None:
    """Print where the time goes."""
    variant.translate(src)
    with profile(activities=[ProfilerActivity.CPU]) as found:
        variant.translate(src)
    kind_of = {name: kind for kind, names in KINDS.items() for name in names}
    spent: Counter[str] = Counter()
    for event in found.key_averages():
        kind = kind_of.get(event.key.rpartition("::")[2], "all else (bookkeeping, Python)")
        spent[kind] += event.self_cpu_time_total
    print("| part | share |\n|---|---|")
    for kind, time_spent in spent.most_common():
        print(f"| {kind} | {time_spent / sum(spent.values()):.1%} |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=24, help="of a batch")
    parser.add_argument("--rounds", type=int, default=6, help="batches of each variant")
    parser.add_argument("--only", default="", help="words in the names of variants, with commas")
    parser.add_argument("--profile", action="store_true", help="of the first of these variants")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    prepare_torch()
    size = sizes()["small"]
    src = batch(size, chosen.sentences)
    listed = variants(size)
    words = chosen.only.split(",")
    names = [name for name in listed if any(word in name for word in words)]
    if chosen.profile:
        shares(listed[names[0]](), src)
        return
    made = {name: listed[name]() for name in ["as it is", *names]}
    seconds: dict[str, list[float]] = {name: [] for name in made}
    for number in range(-1, chosen.rounds):
        for name, variant in made.items():
            took = variant.translate(src)
            if number >= 0:
                seconds[name].append(took)
    base = seconds["as it is"]
    print("| search | time | least and most | sentences/s |\n|---|---|---|---|")
    for name, found in seconds.items():
        ratios = [a / b for a, b in zip(found, base, strict=True)]
        ends = f"{min(ratios):.3f} to {max(ratios):.3f}"
        speed = chosen.sentences / statistics.median(found)
        print(f"| {name} | x{statistics.median(ratios):.3f} | {ends} | {speed:.1f} |", flush=True)


if __name__ == "__main__":
    main()
