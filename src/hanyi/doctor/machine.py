"""The machine: Python, packages, device, memory, disk."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from hanyi.doctor.findings import Finding, fault, good, note, shown
from hanyi.errors import HanyiError

OLDEST_PYTHON = (3, 10)
GIB = 2**30
ENOUGH_MEMORY = 2 * GIB  # the starter model trains in less than half of it
ENOUGH_DISK = 2 * GIB  # models, shards and DVC's cache of the starter corpus take a tenth


def machine(root: Path) -> Iterator[Finding]:
    """Look at what the machine brings; `root` is on the disk where outputs go."""
    yield _python()
    yield _packages()
    yield _device()
    yield _memory()
    yield _disk(root)


def _python() -> Finding:
    found = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        return fault(
            f"Python {found} is too old: 3.10 or newer", f"Python {found} 太旧，需要 3.10 或更新"
        )
    return good(f"Python {found}", f"Python {found}")


def _packages() -> Finding:
    wanted = [Requirement(line) for line in requires("hanyi") or []]
    wanted = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    wrong = list(filter(None, map(_wrong, wanted)))
    if wrong:
        told = ", ".join(wrong)
        return fault(f"packages: {told}; run `make`", f"软件包不符：{told}；请运行 `make`")
    return good(
        f"all {len(wanted)} packages are there in versions that fit (torch {version('torch')})",
        f"{len(wanted)} 个软件包齐全，版本相符（torch {version('torch')}）",
    )


def _wrong(wanted: Requirement) -> str:
    try:
        found = version(wanted.name)
    except PackageNotFoundError:
        return f"{wanted} (none)"
    # Builds such as 2.13.0+cpu are that version.
    fits = wanted.specifier.contains(Version(found).public, prereleases=True)
    return "" if fits else f"{wanted} ({found})"


def _device() -> Finding:
    from hanyi.model.devices import autocast_dtype, pick_device
    from hanyi.model.processes import cores

    try:
        device = pick_device()
    except HanyiError as error:
        return fault(f"device: {shown(error)}", f"设备：{shown(error)}")
    name = f"{cores()} cores" if device.type == "cpu" else device.type
    name_zh = f"{cores()} 核" if device.type == "cpu" else device.type
    precision = "bf16" if autocast_dtype(device) else "float32"
    return good(
        f"computes on {device} ({name}) in {precision}",
        f"在 {device}（{name_zh}）上以 {precision} 计算",
    )


def _memory() -> Finding:
    import torch

    from hanyi.model.memory import available_bytes

    free = available_bytes(torch.device("cpu"))
    told = f"{free / GIB:.1f} GiB"
    if free < ENOUGH_MEMORY:
        return note(f"only {told} of memory free", f"可用内存只有 {told}")
    return good(f"{told} of memory free", f"可用内存 {told}")


def _disk(root: Path) -> Finding:
    free = shutil.disk_usage(root).free
    told = f"{free / GIB:.1f} GiB"
    if free < ENOUGH_DISK:
        return note(f"only {told} of disk free", f"可用磁盘只有 {told}")
    return good(f"{told} of disk free", f"可用磁盘 {told}")
