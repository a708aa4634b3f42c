"""Free memory as the system tells it, and errors of memory as PyTorch tells them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hanyi.model import memory
from hanyi.model.memory import available_bytes, is_out_of_memory

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put an invented system in the place of the real one."""
    monkeypatch.setattr(memory, "PROC", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    return tmp_path


def test_free_memory(system: Path) -> None:
    assert available_bytes(CPU) == memory.UNKNOWN
    (system / "meminfo").write_text("MemTotal: 900 kB\nMemAvailable:   600 kB\n")
    assert available_bytes(CPU) == 600 * 1024
    (system / "memory.current").write_text("1000\n")
    (system / "memory.stat").write_text("anon 600\nfile 400\nactive_file 300\ninactive_file 100\n")
    for most, expected in (("max", 600 * 1024), ("5000", 4100), ("900", 0), ("9" * 9, 600 * 1024)):
        (system / "memory.max").write_text(f"{most}\n")
        assert available_bytes(CPU) == expected
    (system / "meminfo").write_text("MemTotal: 900 kB\n")
    assert available_bytes(CPU) == 10**9 - 1 - 900


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 9 bytes"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED"), True),
        (RuntimeError("shapes do not match"), False),
    ],
)
def test_errors_of_memory(error: RuntimeError, expected: bool) -> None:
    assert is_out_of_memory(error) == expected
