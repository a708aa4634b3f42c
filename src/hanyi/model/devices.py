"""Where the model runs, and in what precision."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import torch

from hanyi.errors import ParamsError

DEVICE_VARIABLE = "HANYI_DEVICE"
CPU_INFO = Path("/proc/cpuinfo")

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
MMAP_THRESHOLDS = (2**30, 2**25)  # bytes; old versions of glibc refuse the first
NEVER = -1


def pick_device(name: str | None = None) -> torch.device:
    """Give the named device, else that of HANYI_DEVICE, else CUDA when there, else the CPU.

    Of several processes on a machine each gets a CUDA device of its own when none is numbered.
    Raises `ParamsError` for a device that is unknown or not there.
    """
    chosen = name or os.environ.get(DEVICE_VARIABLE)
    if not chosen:
        chosen = "cuda" if torch.cuda.is_available() else "cpu"
    if chosen == "cuda" and "LOCAL_RANK" in os.environ:  # as torchrun numbers them
        chosen = f"cuda:{os.environ['LOCAL_RANK']}"
    where = "--device" if name else DEVICE_VARIABLE
    try:
        device = torch.device(chosen)
    except RuntimeError:
        raise ParamsError(where, chosen, "cpu, cuda or cuda:N", "name one of them") from None
    if device.type not in {"cpu", "cuda"}:
        raise ParamsError(where, chosen, "cpu, cuda or cuda:N", "name one of them")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        found = f"{chosen}, but {torch.cuda.device_count()} CUDA devices"
        raise ParamsError(where, found, "a device of this machine", "leave it out or say cpu")
    return device


def autocast_dtype(device: torch.device) -> torch.dtype | None:
    """Give bfloat16 where the hardware computes in it, None where plain floats are faster."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else None
    return torch.bfloat16 if {"avx512_bf16", "amx_bf16"} & _cpu_flags() else None


def prepare_torch() -> None:
    """Let products use the fastest kernels (TF32 on CUDA, oneDNN on the CPU), and keep memory."""
    torch.set_float32_matmul_precision("medium")
    keep_freed_memory()


def keep_freed_memory() -> bool:
    """Let glibc keep what is freed for the next tensor; tell whether it does.

    Tensors over 32 MiB, such as logits, otherwise come from the kernel each time, which blanks
    every page: 5% of a training step at width 256. No result depends on it.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None:  # another C library
        return False
    # Before the other: setting any of the two freezes this one at its start, a mere 128 KiB.
    mapped = any(mallopt(M_MMAP_THRESHOLD, size) for size in MMAP_THRESHOLDS)
    return bool(mallopt(M_TRIM_THRESHOLD, NEVER)) and mapped


def _cpu_flags() -> set[str]:
    if not CPU_INFO.exists():  # not Linux
        return set()
    for line in CPU_INFO.read_text(encoding="utf-8").splitlines():
        if line.startswith("flags"):
            return set(line.split())
    return set()
