"""What a log probability is divided by, so that long translations can win."""

from __future__ import annotations

from collections.abc import Callable


def gnmt(length: int, exponent: float) -> float:
    """Give ((5 + length) / 6)^exponent for a length in tokens (Wu et al. 2016, 7, eq. 14)."""
    return float(((5 + length) / 6) ** exponent)


def average(length: int, exponent: float) -> float:
    """Give length^exponent; with an exponent of 1, scores are means over the tokens."""
    return float(max(length, 1) ** exponent)


# Each grows with the length, which the search relies on to know what is still reachable.
LENGTH_NORMS: dict[str, Callable[[int, float], float]] = {"gnmt": gnmt, "average": average}
