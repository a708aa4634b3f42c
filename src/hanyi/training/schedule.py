"""The learning rate of each update: a linear warm-up to the peak, then one of several declines."""

from __future__ import annotations

import math
from collections.abc import Callable

Decline = Callable[[int, int, int], float]


def inverse_sqrt(step: int, warmup: int, _total: int) -> float:
    """Fall with the inverse square root of the step (Vaswani et al. 2017, 5.3).

    The paper's formula is this one with the peak d_model^-0.5 * warmup^-0.5.
    """
    return math.sqrt(max(warmup, 1) / max(step, warmup, 1))


def linear(step: int, warmup: int, total: int) -> float:
    """Fall on a straight line to 0 after the last update."""
    return 1.0 - _passed(step, warmup, total)


def cosine(step: int, warmup: int, total: int) -> float:
    """Fall on half a cosine wave to 0 after the last update (Loshchilov and Hutter 2017)."""
    return 0.5 * (1.0 + math.cos(math.pi * _passed(step, warmup, total)))


SCHEDULES: dict[str, Decline] = {"inverse_sqrt": inverse_sqrt, "linear": linear, "cosine": cosine}


def learning_rate(name: str, step: int, *, peak: float, warmup: int, total: int) -> float:
    """Give the rate of update `step` (the first is 1) out of `total`."""
    warming = min(1.0, step / warmup) if warmup else 1.0
    return peak * warming * SCHEDULES[name](step, warmup, total)


def _passed(step: int, warmup: int, total: int) -> float:
    # `total + 1`: the last update still learns, the one after it would not.
    return min(1.0, max(0, step - warmup) / max(1, total + 1 - warmup))
