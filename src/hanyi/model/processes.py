"""The processes that share one piece of work, each with its own device: who am I, what is mine.

Started by torchrun or by `stages.launch`, which say by environment variables who is who. Objects
and flags travel through gloo, on CPU tensors, so that no GPU is waited for.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice, zip_longest
from typing import Any, TypeVar

import torch
from torch import distributed

from hanyi.errors import ArtifactError, LostProcessError, ParamsError

T = TypeVar("T")

TIMEOUT = timedelta(minutes=20)
"""The longest wait for another process; one that dies is noticed at once, one that hangs is not."""

LAST_SECONDS = 5.0  # that closing the group may take
NOTHING: Any = object()

# What gloo says when another process is gone; errors of NCCL and of the store have their types.
LOST = ("closed by peer", "reset by peer", "broken pipe", "timed out", "timeout")
LOST_TYPES = (
    distributed.DistBackendError,
    distributed.DistNetworkError,
    distributed.DistStoreError,
)


@dataclass(frozen=True, slots=True)
class Processes:
    """This process, number `rank` from 0 on, of `count` that do the same work together.

    Each method but `share` must be called by all of them, in the same order, and raises
    `LostProcessError` when one of the others is gone.
    """

    rank: int
    count: int

    @property
    def first(self) -> bool:
        """Tell whether this is the process that writes and tells."""
        return self.rank == 0

    def share(self, items: Iterable[T]) -> list[T]:
        """Give this process' part of items that all processes have: every `count`-th."""
        return list(islice(items, self.rank, None, self.count))

    def gather(self, own: list[T]) -> list[T]:
        """Give all items, in the order before `share`, to every process."""
        rounds = zip_longest(*self.gather_each(own), fillvalue=NOTHING)
        return [item for turn in rounds for item in turn if item is not NOTHING]

    def gather_each(self, own: T) -> list[T]:
        """Give the value of each process, in order of rank, to every process."""
        if self.count == 1:
            return [own]
        values: list[T] = [own] * self.count
        with self.told():
            distributed.all_gather_object(values, own)
        return values

    def broadcast(self, value: T) -> T:
        """Give the value of the first process to every process; the others' does not count."""
        if self.count == 1:
            return value
        values = [value]
        with self.told():
            distributed.broadcast_object_list(values, src=0)
        return values[0]

    def any(self, flag: bool) -> bool:
        """Tell every process whether the flag is true in any."""
        if self.count == 1:
            return flag
        raised = torch.tensor(int(flag))
        with self.told():
            distributed.all_reduce(raised, op=distributed.ReduceOp.MAX)
        return bool(raised.item())

    def require_same(self, value: object, where: str) -> None:
        """Raise `ArtifactError` in all processes unless all have an equal value."""
        values = self.gather_each(value)
        others = [rank for rank, other in enumerate(values) if other != values[0]]
        if others:
            raise ArtifactError(
                where,
                f"process {others[0]} of {self.count} has other data, parameters or code",
                "those of process 0",
                "check out the same commit and run `dvc pull` on each machine",
            )

    @contextmanager
    def told(self) -> Iterator[None]:
        """Raise `LostProcessError` in the place of what an exchange with a lost process raises."""
        try:
            yield
        except RuntimeError as error:
            if self.count == 1 or not _is_loss(error):
                raise
            raise LostProcessError(
                f"process {self.rank} of {self.count}",
                f"another process is gone ({_first_line(error)})",
                "all of them to the end",
                "run the same command again; training goes on from its last saved state",
            ) from error


ALONE = Processes(0, 1)
"""The one process there is."""


@contextmanager
def join(device: torch.device) -> Iterator[Processes]:
    """Join the processes that torchrun names in the environment; without it yield `ALONE`.

    On CUDA gradients travel by NCCL, on the CPU by gloo. On the CPU the processes of a machine
    share its cores, unless OMP_NUM_THREADS says how many each takes. Raises `ParamsError` when
    another program uses the port, and `LostProcessError` when what is done within fails because
    another process is gone.
    """
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        yield ALONE
        return
    processes = Processes(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    if device.type == "cuda":
        torch.cuda.set_device(device)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    with processes.told():
        _meet(backend)
        try:
            yield processes
        finally:
            _leave()


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _meet(backend: str) -> None:
    try:
        distributed.init_process_group(backend, timeout=TIMEOUT)
    except distributed.DistNetworkError as error:
        if "EADDRINUSE" not in str(error):
            raise
        raise ParamsError(
            "MASTER_PORT",
            f"{os.environ['MASTER_PORT']}, which another program uses",
            "a free port",
            "run the same command again, with another --master-port if one was given",
        ) from error


def _leave() -> None:
    # In the background, because a group with a lost member may wait for it when it is closed.
    leaving = threading.Thread(target=distributed.destroy_process_group, daemon=True)
    leaving.start()
    leaving.join(LAST_SECONDS)


def _is_loss(error: RuntimeError) -> bool:
    text = str(error).lower()
    return isinstance(error, LOST_TYPES) or any(words in text for words in LOST)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].split("] ", 1)[-1].split(". ", 1)[0][:120]  # without the place in the source
