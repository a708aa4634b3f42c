from __future__ import annotations

import itertools
import math

import pytest

from hanyi.training.schedule import SCHEDULES, learning_rate


@pytest.mark.parametrize("name", SCHEDULES)
def test_warm_up_is_linear_to_the_peak(name: str) -> None:
    rates = [learning_rate(name, s, peak=0.8, warmup=10, total=100) for s in range(1, 101)]
    assert rates[:10] == pytest.approx([0.08 * step for step in range(1, 11)])
    assert max(rates) == pytest.approx(0.8)
    assert all(a >= b for a, b in itertools.pairwise(rates[9:]))
    assert all(rate > 0 for rate in rates)


@pytest.mark.parametrize("step", [1, 7, 399, 400, 401, 5000])
def test_inverse_sqrt_is_the_papers_formula(step: int) -> None:
    d_model, warmup = 512, 400
    paper = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    peak = d_model**-0.5 * warmup**-0.5
    found = learning_rate("inverse_sqrt", step, peak=peak, warmup=warmup, total=9999)
    assert found == pytest.approx(paper)


def test_linear_and_cosine_end_at_zero() -> None:
    for name in ("linear", "cosine"):
        last = learning_rate(name, 101, peak=1.0, warmup=10, total=100)
        assert last == pytest.approx(0.0, abs=1e-12)
    middle = 10 + (101 - 10) / 2
    assert SCHEDULES["linear"](55, 10, 100) == pytest.approx(1 - (55 - 10) / 91)
    assert SCHEDULES["cosine"](10, 10, 100) == 1.0
    assert middle == 55.5
    assert SCHEDULES["cosine"](55, 10, 100) == pytest.approx(
        0.5 * (1 + math.cos(math.pi * 45 / 91))
    )


def test_no_warm_up() -> None:
    assert learning_rate("linear", 1, peak=1.0, warmup=0, total=9) == pytest.approx(0.9)
    assert learning_rate("inverse_sqrt", 4, peak=1.0, warmup=0, total=9) == pytest.approx(0.5)
    assert learning_rate("inverse_sqrt", 1, peak=1.0, warmup=0, total=9) == pytest.approx(1.0)
