"""A batch that does not fit is cut by rows and gives the same update."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import torch

from hanyi.errors import HanyiError, ParamsError
from hanyi.model.transformer import Transformer
from hanyi.tokens.batches import Batch, collate
from hanyi.tokens.vocab import PAD
from hanyi.training.data import Tensors
from hanyi.training.fit import VARIABLE, Fit, is_out_of_memory, largest, padded_tokens
from hanyi.training.loss import sequence_loss
from tests.models import SRC_VOCAB, TGT_VOCAB, tiny_model


class Sentences:
    """Sentences in memory."""

    def __init__(self, rows: int, seed: int = 1, longest: int = 9) -> None:
        draw = np.random.default_rng(seed)
        self.src_lengths = draw.integers(1, longest, rows)
        self.tgt_lengths = draw.integers(1, longest, rows)
        self.src = [draw.integers(4, SRC_VOCAB, n).astype(np.uint16) for n in self.src_lengths]
        self.tgt = [draw.integers(4, TGT_VOCAB, n).astype(np.uint16) for n in self.tgt_lengths]

    def src_flat(self, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([self.src[row] for row in rows])

    def tgt_flat(self, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([self.tgt[row] for row in rows])


def batch_of(rows: int, multiple: int = 1, seed: int = 1) -> Tensors:
    found: Batch = collate(Sentences(rows, seed), np.arange(rows), multiple)
    return Tensors(*(torch.from_numpy(ids) for ids in found))


class Learner:
    """Sums gradients over parts; memory runs out above a size."""

    def __init__(self, room: int = 10**9, error: Exception | None = None) -> None:
        self.model: Transformer = tiny_model().train()
        self.room = room
        self.error = error or torch.OutOfMemoryError("CUDA out of memory")
        self.sizes: list[int] = []

    def work(self, parts: list[Tensors]) -> float:
        total = 0.0
        for part in parts:
            self.sizes.append(padded_tokens(part))
            loss = sequence_loss(self.model, part, 0.1).total
            loss.backward()  # before it fails, as the worst failure would
            if padded_tokens(part) > self.room:
                raise self.error
            total += loss.item()
        return total

    def discard(self) -> None:
        self.model.zero_grad()

    def gradients(self) -> list[torch.Tensor]:
        return [weights.grad for weights in self.model.parameters()]  # type: ignore[misc]


def close(one: list[torch.Tensor], other: list[torch.Tensor]) -> None:
    for left, right in zip(one, other, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("multiple", [4, 8])
def test_filling_up_changes_neither_loss_nor_gradients(multiple: int) -> None:
    plain, filled = Learner(), Learner()
    batch = batch_of(13, multiple)
    assert all(size % multiple == 0 for size in (*batch.src.shape, *batch.tgt_out.shape))
    assert (batch.src[13:] == PAD).all()
    assert (batch.tgt_out[13:] == PAD).all()
    assert filled.work([batch]) == pytest.approx(plain.work([batch_of(13)]), rel=1e-6)
    close(filled.gradients(), plain.gradients())


@pytest.mark.parametrize("multiple", [1, 8])
@pytest.mark.parametrize("budget", [1, 20, 55, 10_000])
def test_a_cut_batch_gives_the_same_update(budget: int, multiple: int) -> None:
    whole, cut = Learner(), Learner()
    batches = [batch_of(13, multiple), batch_of(7, multiple, seed=2)]
    parts = Fit(budget).cut(batches)
    assert all(padded_tokens(part) <= budget or len(part.src) == 1 for part in parts)
    assert sum(len(part.real) for part in parts) == sum(len(batch.real) for batch in batches)
    assert cut.work(parts) == pytest.approx(whole.work(batches), rel=1e-6)
    close(cut.gradients(), whole.gradients())


def test_nothing_is_cut_without_need() -> None:
    batches = [batch_of(13), batch_of(7)]
    assert Fit().cut(batches) == batches
    assert Fit(10_000).cut(batches) == batches


ERRORS: list[Any] = [
    torch.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
]


@pytest.mark.parametrize("error", ERRORS, ids=["gpu", "cpu"])
def test_an_update_that_does_not_fit_is_halved_and_made_whole(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    batches = [batch_of(5, seed=2), batch_of(13)]  # the first fits, the second not
    whole, tight = Learner(), Learner(room=60, error=error)
    fit = Fit()
    with caplog.at_level(logging.WARNING):
        total = fit.run(batches, tight.work, tight.discard)
    assert total == pytest.approx(whole.work(batches), rel=1e-6)
    close(tight.gradients(), whole.gradients())
    assert len(caplog.records) == 1
    assert f"batches of {padded_tokens(batches[1])} padded tokens" in caplog.text
    # What was found is kept: no further failure.
    assert fit.budget is not None
    assert fit.budget <= 60
    tight.sizes.clear()
    fit.run(batches, tight.work, tight.discard)
    assert max(tight.sizes) <= 60
    assert len(caplog.records) == 1


def test_the_probe_finds_the_budget_and_leaves_no_gradients() -> None:
    tight = Learner(room=40)
    fit = Fit()
    fit.probe([batch_of(13)], tight.work, tight.discard)
    assert fit.budget is not None
    assert fit.budget <= 40
    assert all(gradient is None for gradient in tight.gradients())


def test_one_row_that_does_not_fit_is_told() -> None:
    hopeless = Learner(room=0)
    with pytest.raises(HanyiError, match=r"no room for one sentence pair of \d+ and \d+ tokens"):
        Fit().run([batch_of(6)], hopeless.work, hopeless.discard)


def test_another_error_is_left_as_it_is() -> None:
    broken = Learner(room=0, error=RuntimeError("shapes do not match"))
    fit = Fit()
    with pytest.raises(RuntimeError, match="shapes"):
        fit.run([batch_of(6)], broken.work, broken.discard)
    assert fit.budget is None
    assert not is_out_of_memory(RuntimeError("shapes do not match"))


def test_several_processes_are_told_what_to_do() -> None:
    tight = Learner(room=40)
    fit = Fit(restarts=False)
    with pytest.raises(HanyiError, match=rf"again with {VARIABLE}=\d+"):
        fit.run([batch_of(13)], tight.work, tight.discard)
    fit.probe([batch_of(13)], tight.work, tight.discard)  # nothing is exchanged yet
    assert max(padded_tokens(part) for part in fit.cut([batch_of(13)])) <= 40


def test_of_several_budgets_the_smallest_counts() -> None:
    fit = Fit()
    for others, budget in (((None,), None), ((50, None, 40), 40), ((60,), 40), ((None,), 40)):
        fit.lower(*others)
        assert fit.budget == budget


def test_the_budget_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert Fit.from_environment().budget is None
    monkeypatch.setenv(VARIABLE, "4000")
    assert Fit.from_environment().budget == 4000
    for wrong in ("0", "-1", "many"):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(ParamsError, match=VARIABLE):
            Fit.from_environment()


def test_the_largest_batches_are_the_widest_and_the_longest() -> None:
    lengths = np.array([3] * 20 + [18, 1])
    plan = [np.array([21]), np.arange(20), np.array([20]), np.array([0, 1])]
    found = [rows.tolist() for rows in largest(plan, lengths, lengths)]
    assert found == [list(range(20)), [20]]
    assert largest([], lengths, lengths) == []
