"""The device is picked by flag, then by environment, then by what is there."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest
import torch

from hanyi.errors import ParamsError
from hanyi.model import devices
from hanyi.model.devices import DEVICE_VARIABLE, autocast_dtype, pick_device, prepare_torch


@pytest.fixture(autouse=True)
def no_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DEVICE_VARIABLE, raising=False)


def test_flag_then_environment_then_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for there in (True, False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert pick_device().type == ("cuda" if there else "cpu")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv(DEVICE_VARIABLE, "cuda:1")
    assert pick_device() == torch.device("cuda:1")
    assert pick_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpu", "--device: gpu, expected cpu, cuda or cuda:N"),
        ("mps", "--device: mps, expected cpu, cuda or cuda:N"),
        ("cuda:3", "--device: cuda:3, but 1 CUDA devices, expected a device of this machine"),
    ],
)
def test_unknown_devices(name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ParamsError, match=message):
        pick_device(name)
    monkeypatch.setenv(DEVICE_VARIABLE, name)
    with pytest.raises(ParamsError, match=f"{DEVICE_VARIABLE}: {name}"):
        pick_device()


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("fma avx2 avx512f", None),
        ("avx512f avx512_bf16", torch.bfloat16),
        ("amx_bf16 amx_tile", torch.bfloat16),
    ],
)
def test_half_precision_where_the_processor_has_it(
    flags: str, expected: torch.dtype | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: fpu {flags}\n")
    monkeypatch.setattr(devices, "CPU_INFO", tmp_path / "cpuinfo")
    assert autocast_dtype(torch.device("cpu")) == expected


def test_full_precision_where_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "CPU_INFO", tmp_path / "none")
    assert autocast_dtype(torch.device("cpu")) is None


def test_prepare_torch() -> None:
    before = torch.get_float32_matmul_precision()
    try:
        prepare_torch()
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_freed_memory_is_kept() -> None:
    if not devices.keep_freed_memory():
        pytest.skip("not glibc")

    def faults() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(2**24)  # 64 MiB, 16,384 pages
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    # Not at once: a block is often a few bytes too small for the next one.
    assert min(faults() for _ in range(20)) < 1000


def test_other_systems_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not devices.keep_freed_memory()
