"""Processes that share work over gloo: who gets what, and what is told when one is lost."""

from __future__ import annotations

import os
import socket
import time

import pytest
import torch

from hanyi.errors import ArtifactError, LostProcessError, ParamsError
from hanyi.model import processes as module
from hanyi.model.processes import ALONE, Processes, join
from tests.processes import in_processes, run_processes
from tests.training import CPU, die


@pytest.mark.parametrize("count", [2, 3])
def test_what_is_shared_out_comes_back_in_order(count: int) -> None:
    def work(own: Processes) -> list[object]:
        return [
            own.share(range(5)),
            [own.gather(own.share(range(size))) for size in range(6)],
            own.gather([None] if own.first else []),
            own.gather_each(own.rank * 10),
            own.broadcast({"from": own.rank}),
            [own.any(own.rank == 1), own.any(False), own.any(True)],
        ]

    found = in_processes(count, work)
    for rank, (shared, *common) in enumerate(found):
        assert shared == list(range(5))[rank::count]
        assert common == [
            [list(range(size)) for size in range(6)],
            [None],
            [10 * other for other in range(count)],
            {"from": 0},
            [True, False, True],
        ]


def test_one_process_needs_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    with join(CPU) as own:
        assert own is ALONE
    assert own.first
    assert own.share("abc") == own.gather(["a", "b", "c"]) == ["a", "b", "c"]
    assert own.gather_each(1) == [1]
    assert own.broadcast("x") == "x"
    assert own.any(True)
    assert not own.any(False)


@pytest.mark.parametrize("name", ["gather", "broadcast", "any"])
def test_a_lost_process_is_told_at_once(name: str) -> None:
    def work(own: Processes) -> None:
        def exchange(times: int = 1) -> None:
            for _ in range(times):
                getattr(own, name)([1] if name == "gather" else False)

        exchange()
        if own.rank == 1:
            die()
        begun = time.monotonic()
        with pytest.raises(LostProcessError) as told:
            exchange(times=1000)  # a first broadcast may still be sent to nobody
        assert time.monotonic() - begun < 10
        line = str(told.value)
        assert line.startswith("process 0 of 2: another process is gone (")
        assert "third_party" not in line
        assert line.endswith(
            "; run the same command again; training goes on from its last saved state"
        )

    assert run_processes(2, work) == [0, -9]


def test_a_port_that_another_program_uses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_PORT": port}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
        with pytest.raises(ParamsError, match=rf"{port}, which another program uses"), join(CPU):
            pytest.fail("it joined")


def test_all_must_have_the_same() -> None:
    def work(own: Processes) -> str:
        own.require_same(["equal"], "train")
        with pytest.raises(ArtifactError) as told:
            own.require_same(own.rank == 1, "train")
        return str(told.value)

    lines = in_processes(3, work)
    assert lines == [lines[0]] * 3
    assert lines[0].startswith("train: process 1 of 3 has other data, parameters or code, expected")
    ALONE.require_same(1, "train")


def test_a_bug_in_one_of_several_stays_a_bug() -> None:
    def work(own: Processes) -> None:
        with pytest.raises(RuntimeError, match="size of tensor"), own.told():
            torch.ones(2) + torch.ones(3)

    assert run_processes(2, work) == [0, 0]


def test_the_processes_of_a_machine_share_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(module, "cores", lambda: 6)
    assert in_processes(2, lambda _: torch.get_num_threads()) == [3, 3]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert in_processes(2, lambda _: torch.get_num_threads()) == [1, 1]


def test_no_more_cores_than_this_process_may_use() -> None:
    assert 1 <= module.cores() <= (os.cpu_count() or 1)
