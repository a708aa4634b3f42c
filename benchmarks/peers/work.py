"""What a training step costs in floating-point operations, and what the machine can do at most."""

from __future__ import annotations

import time
from collections.abc import Mapping

import torch

from benchmarks.peers.task import Task

SIDES = (1024, 2048, 4096)  # of the square matrices
SECONDS = 1.0  # of trying each size


def training_flops(task: Task, counts: Mapping[str, float]) -> float:
    """Give the operations of forward and backward passes over real tokens, PAD left out.

    Matrix products alone, a multiplication and an addition being two; the backward pass costs two
    forward passes. The same formula for all systems, whatever they compute beyond it.
    """
    d, d_ff = task.d_model, task.d_ff
    encoder = counts["src_tokens"] * (4 * d * d + 2 * d * d_ff) + counts["src_src"] * 2 * d
    decoder = (
        counts["tgt_tokens"] * (6 * d * d + 2 * d * d_ff)
        + counts["src_tokens"] * 2 * d * d  # keys and values of cross-attention
        + (counts["tgt_tgt"] + counts["src_tgt"]) * 2 * d
    )
    output = counts["tgt_tokens"] * d * task.tgt_vocab
    return 6.0 * (task.layers * (encoder + decoder) + output)


def matmul_peak(dtype: torch.dtype) -> float:
    """Give the operations a second of the fastest of some large matrix products."""
    best = 0.0
    for side in SIDES:
        a, b = (torch.randn(side, side).to(dtype) for _ in range(2))
        out = a @ b
        begun = time.perf_counter()
        while time.perf_counter() - begun < SECONDS:
            start = time.perf_counter()
            torch.mm(a, b, out=out)
            best = max(best, 2 * side**3 / (time.perf_counter() - start))
    return best
