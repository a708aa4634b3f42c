"""Training in two real processes over gloo: the same curve, the same weights, exact resume."""

from __future__ import annotations

import dataclasses
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from hanyi.errors import LostProcessError
from hanyi.model.processes import ALONE, Processes, join
from hanyi.training.averages import snapshot
from hanyi.training.trainer import Interrupted, Outcome
from tests.training import CPU, die, make_corpus, make_trainer, start_child, wait_for

LOST = 3  # exit code of a process that noticed the loss of the other


def in_processes(count: int, work: Callable[[Processes], object]) -> list[int]:
    """Run `work` in forked processes that have joined; give their exit codes by rank."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def one(rank: int) -> None:
        os.environ |= {
            "RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        }  # fmt: skip
        torch.set_num_threads(1)
        try:
            with join(CPU) as processes:
                work(processes)
        except LostProcessError:
            raise SystemExit(LOST) from None

    children = [start_child(lambda rank=rank: one(rank)) for rank in range(count)]  # type: ignore[misc]
    return [wait_for(child) for child in children]


def train(
    root: Path, state: Path, processes: Processes, stop_at: int = 0, **changes: Any
) -> tuple[dict[str, Any], Outcome]:
    """Train as one of several processes; give what the model and the curve are at the end."""
    trainer = make_trainer(root, state, {"dropout": 0.0}, processes=processes, **changes)
    # Only one of them is asked: the others must hear of it.
    outcome = trainer.run(lambda: processes.first and trainer.progress.step == stop_at)
    rows = [
        {name: value for name, value in row.items() if name not in {"samples", "corpora"}}
        for row in outcome.progress.history
    ]
    return {"weights": snapshot(trainer.model), "history": rows}, outcome


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


def same_to_rounding(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    for name, weights in one.items():
        # The bias of a key adds the same to all scores of a query: its gradient is rounding alone.
        if not name.endswith(("query_key_value.bias", "key_value.bias")):
            torch.testing.assert_close(weights, other[name], atol=1e-4, rtol=1e-3)


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "accumulated": {"accumulate": 2, "ema": 0.9, "spike": 50.0, "select": "chrf"},
    "one row a batch": {"batch_tokens": 3, "bpe_dropout": 0.3},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_two_processes_give_the_curve_of_one(corpus: Path, tmp_path: Path, name: str) -> None:
    changes = SETTINGS[name]
    alone, _ = train(corpus, tmp_path / "alone", ALONE, **changes)

    def work(processes: Processes) -> None:
        found, _ = train(corpus, tmp_path / "two", processes, **changes)
        torch.save(found, tmp_path / f"{processes.rank}.pt")

    assert in_processes(2, work) == [0, 0]
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    assert first["history"] == second["history"]
    for key, weights in first["weights"].items():
        assert torch.equal(weights, second["weights"][key])
    same_to_rounding(first["weights"], alone["weights"])
    for one, two in zip(alone["history"], first["history"], strict=True):
        assert one == pytest.approx(two, rel=1e-3)


def test_both_stop_when_one_is_asked_and_go_on_in_any_number(corpus: Path, tmp_path: Path) -> None:
    unbroken, _ = train(corpus, tmp_path / "unbroken", ALONE)
    states = [tmp_path / "again", tmp_path / "more"]

    def work(processes: Processes, state: Path, stop_at: int) -> None:
        try:
            found, _ = train(corpus, state, processes, stop_at)
        except Interrupted:
            raise SystemExit(75) from None
        torch.save(found, tmp_path / f"{state.name}.{processes.rank}.pt")

    assert in_processes(2, lambda who: work(who, states[0], 5)) == [75, 75]
    assert in_processes(3, lambda who: work(who, states[0], 0)) == [0, 0, 0]
    found = torch.load(tmp_path / "again.2.pt")
    same_to_rounding(found["weights"], unbroken["weights"])
    # In the same number of processes the end is the same to the last bit.
    assert in_processes(2, lambda who: work(who, states[1], 0)) == [0, 0]
    whole = torch.load(tmp_path / "more.0.pt")
    states[1] = tmp_path / "broken"
    assert in_processes(2, lambda who: work(who, states[1], 7)) == [75, 75]
    assert in_processes(2, lambda who: work(who, states[1], 0)) == [0, 0]
    broken = torch.load(tmp_path / "broken.0.pt")
    assert whole["history"] == broken["history"]
    assert all(
        torch.equal(whole["weights"][name], broken["weights"][name]) for name in whole["weights"]
    )


def test_a_lost_process_is_told_and_training_goes_on_from_its_state(
    corpus: Path, tmp_path: Path
) -> None:
    def work(processes: Processes) -> None:
        trainer = make_trainer(corpus, tmp_path / "state", processes=processes)
        real = trainer._update

        def deadly(update: Any) -> None:
            if trainer.progress.step == 7 and not processes.first:
                die()
            real(update)

        trainer._update = deadly  # type: ignore[method-assign]
        trainer.run()

    assert in_processes(2, work) == [LOST, -9]
    trainer = make_trainer(corpus, tmp_path / "state")
    assert trainer.run().progress.step == 12
    assert dataclasses.is_dataclass(trainer.progress)
