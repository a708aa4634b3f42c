"""Several processes for one stage: `HANYI_TORCHRUN="--nproc-per-node=2" dvc repro`.

Takes the names of torchrun's flags and sets its environment variables, but stays in the stage's own
process and forks: nothing is imported twice, signals and exit codes go through, and an error is one
line. `torchrun ... -m stages.train` does the same work where elastic restarts are wanted.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

from hanyi.errors import EXIT_FAULT, HanyiError, LostProcessError, ParamsError

VARIABLE = "HANYI_TORCHRUN"
PORT = 29500  # torchrun's, when there are several machines
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
GRACE_SECONDS = 5  # for the others to end by themselves after one has failed
AGAIN = "run the same command again; training goes on from its last saved state"
FAULTS = "HANYI_FAULTS"  # the file descriptor to which a worker tells its fault
LONGEST_FAULT = 900  # characters; a pipe takes 4,096 bytes in one piece, whoever else writes
LAST_PORT = 2**16 - 1


@dataclass(frozen=True)
class Layout:
    """Which processes there are, in torchrun's words."""

    nproc_per_node: int
    nnodes: int
    node_rank: int
    master_addr: str
    master_port: int

    @property
    def count(self) -> int:
        """Count the processes on all machines."""
        return self.nproc_per_node * self.nnodes

    def rank(self, local: int) -> int:
        """Give the number, among all, of a process of this machine."""
        return self.node_rank * self.nproc_per_node + local


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, or minus the signal that killed it."""

    rank: int
    code: int
    fault: str = ""  # the line it would have written
    lost: bool = False  # only because another one was gone


def launched() -> bool:
    """Tell whether this process is one of several, by this launcher or by torchrun."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def rank() -> int:
    """Give this process' number among those of the stage, 0 for a single one."""
    return int(os.environ["RANK"]) if launched() else 0


def launch(name: str, default: Callable[[], int]) -> None:
    """Return in each of the processes asked for; their parent waits and ends with their exit code.

    `default` gives the number of processes when HANYI_TORCHRUN is not set. Raises `ParamsError` for
    flags that are unknown.
    """
    if launched():
        return
    flags = os.environ.get(VARIABLE, "").strip()
    layout = read_layout(flags or f"--nproc-per-node={default()}")
    if layout.count == 1:
        return
    faults, told = os.pipe()
    with _held_back(FORWARDED):
        workers = {}
        for local in range(layout.nproc_per_node):
            sys.stdout.flush()
            sys.stderr.flush()
            if not (pid := os.fork()):
                os.close(faults)
                _become(layout, local, told)
                return
            workers[pid] = layout.rank(local)
        os.close(told)
        parent = _Parent(workers)
    _finish(name, layout, parent.wait(faults), parent.asked)


def tell(error: HanyiError | str) -> bool:
    """Hand the fault that ends this process to the launcher; False: there is none to write it."""
    if FAULTS not in os.environ:
        return False
    fault = {
        "rank": rank(),
        "fault": str(error)[:LONGEST_FAULT],
        "lost": isinstance(error, LostProcessError),
    }
    line = json.dumps(fault, ensure_ascii=False) + "\n"
    try:
        os.write(int(os.environ[FAULTS]), line.encode("utf-8", "backslashreplace"))
    except BrokenPipeError:  # the launcher was killed
        return False
    return True


def read_layout(flags: str) -> Layout:
    """Read torchrun's flags; raise `ParamsError` for any that is unknown or out of range."""
    parser = _Parser(prog=VARIABLE, add_help=False, allow_abbrev=False)
    numbers = {"nproc-per-node": 1, "nnodes": 1, "node-rank": 0, "master-port": 0}
    for flag, value in numbers.items():
        parser.add_argument(f"--{flag}", f"--{flag.replace('-', '_')}", type=int, default=value)
    parser.add_argument("--master-addr", "--master_addr")
    try:
        found = parser.parse_args(shlex.split(flags))
    except ValueError as error:  # a quotation mark alone
        parser.error(str(error))
    processes, nodes, number = found.nproc_per_node, found.nnodes, found.node_rank
    if nodes < 1 or processes < 1 or not 0 <= number < nodes:
        parser.error(f"{processes} processes on node {number} of {nodes}")
    if not 0 <= found.master_port <= LAST_PORT:
        parser.error(f"port {found.master_port}")
    if nodes > 1 and not found.master_addr:  # each would wait for itself
        parser.error(f"{nodes} machines without --master-addr")
    port = found.master_port or (PORT if nodes > 1 else _free_port())
    return Layout(processes, nodes, number, found.master_addr or "127.0.0.1", port)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ParamsError(
            VARIABLE,
            message,
            "some of --nproc-per-node, --nnodes, --node-rank, --master-addr, --master-port",
            "use `torchrun ... -m stages.train` for its other flags",
        )


class _Parent:
    """Waits for the workers, and passes on to them the signals that it gets."""

    def __init__(self, workers: dict[int, int]) -> None:
        self.workers = workers  # rank by process id; those that run
        self.asked: int | None = None  # the signal that asked all of them to stop
        self.given_up: set[int] = set()  # ranks of those that did not end by themselves
        for number in FORWARDED:
            signal.signal(number, self._forward)
        signal.signal(signal.SIGALRM, self._end)

    def wait(self, faults: int) -> list[Ended]:
        """Give how the workers ended, in the order of their ends."""
        codes = {}
        while self.workers:
            pid, status = os.wait()
            if pid not in self.workers:
                continue
            worker = self.workers.pop(pid)
            codes[worker] = os.waitstatus_to_exitcode(status)
            if codes[worker] not in {0, os.EX_TEMPFAIL}:  # who saves a state may take its time
                signal.alarm(GRACE_SECONDS)
        signal.alarm(0)
        with open(faults, encoding="utf-8") as lines:
            told = {line["rank"]: line for line in map(json.loads, lines)}
        ended = []
        for worker, code in codes.items():
            line = told.get(worker, {"fault": "", "lost": worker in self.given_up})
            ended.append(Ended(worker, code, line["fault"], line["lost"]))
        return ended

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        self.asked = number
        self._kill(number)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self.given_up |= set(self.workers.values())
        self._kill(signal.SIGKILL)

    def _kill(self, number: int) -> None:
        for worker in list(self.workers):
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(worker, number)


def _become(layout: Layout, local: int, told: int) -> None:
    """Make a forked process a worker, in torchrun's words."""
    os.environ |= {
        FAULTS: str(told),
        "RANK": str(layout.rank(local)),
        "WORLD_SIZE": str(layout.count),
        "LOCAL_RANK": str(local),
        "LOCAL_WORLD_SIZE": str(layout.nproc_per_node),
        "MASTER_ADDR": layout.master_addr,
        "MASTER_PORT": str(layout.master_port),
    }
    os.setsid()  # Ctrl-C goes to the parent, which passes it on, once


def _finish(name: str, layout: Layout, ended: list[Ended], asked: int | None) -> NoReturn:
    """End as the workers did, with one line for what went wrong first."""
    failed = [one for one in ended if one.code not in {0, os.EX_TEMPFAIL}]
    if not failed:
        raise SystemExit(max((one.code for one in ended), default=0))
    if asked is not None and all(one.code in {-asked, 128 + asked} for one in failed):
        raise SystemExit(128 + asked)
    cause = next((one for one in failed if not one.lost), failed[0])
    line = cause.fault
    if cause.code < 0:
        line = str(
            LostProcessError(
                f"process {cause.rank} of {layout.count}",
                f"killed by {signal.Signals(-cause.code).name}",
                "all of them to the end",
                AGAIN,
            )
        )
    if line:
        sys.stderr.write(f"{name}: error: {line}\n")
    raise SystemExit(EXIT_FAULT if line else cause.code)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def _held_back(numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """Let signals wait, so that none comes to a parent that does not yet pass it on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
