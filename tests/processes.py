"""Real processes on loopback, forked: nothing is imported twice."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch

from hanyi.model.processes import Processes, join
from stages.launch import read_layout
from tests.training import CPU, start_child, wait_for

T = TypeVar("T")


def in_processes(count: int, work: Callable[[Processes], T]) -> list[T]:
    """Run `work` in each of `count` processes; give what each returned, by rank."""
    with tempfile.TemporaryDirectory() as folder:
        results = [Path(folder) / str(rank) for rank in range(count)]

        def save(processes: Processes) -> None:
            results[processes.rank].write_bytes(pickle.dumps(work(processes)))

        assert run_processes(count, save) == [0] * count
        return [pickle.loads(path.read_bytes()) for path in results]


def run_processes(count: int, work: Callable[[Processes], object]) -> list[int]:
    """Run `work` in each of `count` processes; give their exit codes, by rank."""
    port = read_layout("").master_port

    def one(rank: int) -> None:
        os.environ |= {
            "RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        }  # fmt: skip
        torch.set_num_threads(1)
        with join(CPU) as processes:
            processes.any(False)  # else one that ends at once cuts off one that still connects
            work(processes)

    children = [start_child(lambda rank=rank: one(rank)) for rank in range(count)]  # type: ignore[misc]
    return [wait_for(child) for child in children]
