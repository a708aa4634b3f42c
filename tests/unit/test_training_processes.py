"""Training in two real processes over gloo: the same curve, the same weights, exact resume."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from hanyi.errors import LostProcessError
from hanyi.model.processes import ALONE, Processes
from hanyi.training.averages import snapshot
from hanyi.training.trainer import Interrupted
from tests.processes import in_processes, run_processes
from tests.training import die, make_corpus, make_trainer

LOST = 3  # exit code of a process that noticed the loss of the other


def train(
    root: Path, state: Path, processes: Processes, stop_at: int = 0, **changes: Any
) -> dict[str, Any]:
    """Train as one of several processes; give what the model and the curve are at the end."""
    trainer = make_trainer(root, state, {"dropout": 0.0}, processes=processes, **changes)
    # Only one of them is asked: the others must hear of it.
    outcome = trainer.run(lambda: processes.first and trainer.progress.step == stop_at)
    rows = [
        {name: value for name, value in row.items() if name not in {"samples", "corpora"}}
        for row in outcome.progress.history
    ]
    return {"weights": snapshot(trainer.model), "history": rows}


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
    alone = train(corpus, tmp_path / "alone", ALONE, **changes)

    first, second = in_processes(
        2, lambda processes: train(corpus, tmp_path / "two", processes, **changes)
    )
    assert first["history"] == second["history"]
    for key, weights in first["weights"].items():
        assert torch.equal(weights, second["weights"][key])
    same_to_rounding(first["weights"], alone["weights"])
    for one, two in zip(alone["history"], first["history"], strict=True):
        assert one == pytest.approx(two, rel=1e-3)


def test_both_stop_when_one_is_asked_and_go_on_in_any_number(corpus: Path, tmp_path: Path) -> None:
    unbroken = train(corpus, tmp_path / "unbroken", ALONE)

    def stop(count: int, state: Path, step: int) -> None:
        def work(processes: Processes) -> None:
            with pytest.raises(Interrupted):
                train(corpus, state, processes, step)

        assert run_processes(count, work) == [0] * count

    def go_on(count: int, state: Path) -> dict[str, Any]:
        return in_processes(count, lambda processes: train(corpus, state, processes))[-1]

    stop(2, tmp_path / "again", 5)
    same_to_rounding(go_on(3, tmp_path / "again")["weights"], unbroken["weights"])
    # In the same number of processes the end is the same to the last bit.
    whole = go_on(2, tmp_path / "whole")
    stop(2, tmp_path / "broken", 7)
    broken = go_on(2, tmp_path / "broken")
    assert whole["history"] == broken["history"]
    for name, weights in whole["weights"].items():
        assert torch.equal(weights, broken["weights"][name])


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
        try:
            with processes.told():
                trainer.run()
        except LostProcessError:
            raise SystemExit(LOST) from None

    assert run_processes(2, work) == [LOST, -9]
    assert make_trainer(corpus, tmp_path / "state").run().progress.step == 12
