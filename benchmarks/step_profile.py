"""Where the time of a training step goes: `.venv/bin/python -m benchmarks.step_profile`.

Sums the time that PyTorch's operations themselves take, by kind; what they call is counted there.
Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.steps import Variant, batches, sizes
from hanyi.model.devices import prepare_torch
from hanyi.params import load_section
from hanyi.training.config import TrainConfig

WARM = 3  # steps

KINDS = {
    "products of layers and output": ("mm", "addmm", "addmm_"),
    "products of attention": ("bmm",),
    "copies (heads apart and together, rows)": ("copy_", "cat", "index_select", "clone"),
    "softmax (attention, loss)": ("_softmax", "_softmax_backward_data"),
    "other reductions (loss, bias gradients)": ("amax", "mean", "sum", "gather", "log"),
    "layer norms": ("native_layer_norm", "native_layer_norm_backward"),
    "random draws and masks of dropout": ("random_", "ge"),
    "products element by element": ("mul", "mul_"),
    "sums element by element": ("add", "add_", "sub", "sub_"),
    "activation": ("clamp_min_", "relu_", "threshold_backward"),
    "zeros": ("fill_", "zero_"),
    "embedding gradients": ("embedding_dense_backward",),
    "AdamW": ("_fused_adamw_", "_fused_adamw"),
    "norm of the gradient": ("linalg_vector_norm", "_foreach_norm"),
}


def main() -> None:
    """Measure and print."""
    listed = sizes()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=listed, default="default")
    parser.add_argument("--rounds", type=int, default=8, help="steps")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    prepare_torch()
    size = listed[chosen.size]
    work = batches(size)
    variant = Variant(size, load_section("train", TrainConfig))
    for batch in work[:WARM]:
        variant.step(batch, time.process_time)
    with profile(activities=[ProfilerActivity.CPU]) as found:
        for batch in work[WARM : WARM + chosen.rounds]:
            variant.step(batch, time.process_time)
    kind_of = {f"aten::{name}": kind for kind, names in KINDS.items() for name in names}
    spent: Counter[str] = Counter()
    for event in found.key_averages():
        kind = kind_of.get(event.key, "all else (other operations, bookkeeping, Python)")
        spent[kind] += event.self_cpu_time_total
    print("| part | share of a step |\n|---|---|")
    for kind, time_spent in spent.most_common():
        print(f"| {kind} | {time_spent / sum(spent.values()):.1%} |")


if __name__ == "__main__":
    main()
