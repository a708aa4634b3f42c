"""What a stage runs on: the machine, the versions of what computes, the device."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("torch", "dvc", "mlflow")
CPU_INFO = Path("/proc/cpuinfo")
GIB = 1 << 30


def describe_machine() -> dict[str, str]:
    """Give host, system, processor, usable cores, memory in GiB, and versions."""
    found = {
        "machine.host": platform.node(),
        "machine.system": f"{platform.system()} {platform.release()}",
        "machine.cpu": _processor(),
        "machine.cores": str(_cores()),
        "machine.memory": _memory(),
        "python": platform.python_version(),
    }
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return {name: value for name, value in found.items() if value}


def device_used() -> str:
    """Name the device on which this process computes, or nothing if it never loaded torch."""
    torch = sys.modules.get("torch")  # an import would cost two seconds
    if torch is None:
        return ""
    with suppress(AttributeError, RuntimeError):  # half imported, or a driver that is broken
        if torch.cuda.is_initialized():
            return f"cuda ({torch.cuda.get_device_name()})"
    return "cpu"


def _processor() -> str:
    with suppress(OSError):
        for line in CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> str:
    with suppress(AttributeError, OSError, ValueError):
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return f"{size / GIB:.1f} GiB"
    return ""
