"""A GPU computes what the CPU does: the checks of benchmarks/gpu.py."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from benchmarks.gpu_checks import (
    Check,
    Sentences,
    Sizes,
    bf16,
    curves,
    forms,
    programs,
    resumed,
)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

SIZES = Sizes(d_model=128, heads=4, d_ff=256, layers=2, vocab=500)
CUDA = torch.device("cuda")


def hold(checks: Sequence[Check]) -> None:
    assert [check for check in checks if not check.holds] == []


@pytest.fixture(scope="module")
def batches() -> list:
    return Sentences(2000, SIZES.vocab).batches(2000)


def test_gradients_in_bf16_are_those_in_fp32(batches: list) -> None:
    hold(bf16(SIZES, CUDA, batches[0]))


def test_fused_attention_is_the_explicit_one(batches: list) -> None:
    hold(forms(SIZES, CUDA, batches[0]))


def test_compiled_layers_are_the_plain_ones(batches: list) -> None:
    hold(programs(SIZES, CUDA, batches[0]))


def test_the_curve_is_the_cpus(batches: list) -> None:
    hold(curves(SIZES, CUDA, batches, updates=100))


def test_a_resumed_run_goes_on_as_the_unbroken_one(batches: list) -> None:
    hold(resumed(SIZES, CUDA, batches, updates=20))
