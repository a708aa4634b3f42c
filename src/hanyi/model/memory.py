"""Memory: how much is free, and whether it ran out."""

from __future__ import annotations

from pathlib import Path

import torch

PROC = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")

RECLAIMED = "inactive_file "

UNKNOWN = 4 << 30
"""Bytes taken as free where the system does not tell."""

# Other errors of memory than PyTorch's own class, as their messages tell them.
OUT_OF_MEMORY = ("can't allocate memory", "out of memory", "cublas_status_alloc_failed")


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether memory ran out, on a GPU or on the CPU."""
    text = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or any(
        words in text for words in OUT_OF_MEMORY
    )


def available_bytes(device: torch.device) -> int:
    """Give the bytes that may still be taken: of the GPU, or of the machine and the container."""
    if device.type == "cuda":
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0]) + kept  # PyTorch's own, for later tensors
    return min((free for free in (_machine(), _container()) if free is not None), default=UNKNOWN)


def _machine() -> int | None:
    if not PROC.exists():  # not Linux
        return None
    for line in PROC.read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _container() -> int | None:
    """Give the limit of the control group (cgroup v2) without what it holds for good."""
    try:
        most, used, stat = (
            (CGROUP / f"memory.{name}").read_text(encoding="utf-8").strip()
            for name in ("max", "current", "stat")
        )
    except OSError:  # no control group, or an old one
        return None
    # Files that were read count as used, but make room when it is needed.
    kept = sum(int(line.split()[1]) for line in stat.splitlines() if line.startswith(RECLAIMED))
    return max(0, int(most) - int(used) + kept) if most.isdecimal() else None
