from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from hanyi.errors import HanyiError
from hanyi.model.transformer import Transformer
from hanyi.training.progress import average, better, snapshot
from hanyi.training.trainer import Interrupted, Outcome, Trainer
from tests.training import (
    CORPORA,
    MODEL,
    die,
    in_child,
    make_corpus,
    make_trainer,
    make_validator,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


def run(trainer: Trainer, **arguments: Any) -> Outcome:
    with trainer.state.locked():
        return trainer.run(**arguments)


def same_weights(one: Transformer, other: Transformer) -> bool:
    a, b = snapshot(one), snapshot(other)
    return all(torch.equal(a[name], b[name]) for name in a)


def test_learns_what_can_be_learnt(tmp_path: Path) -> None:
    root = make_corpus(tmp_path, train=20, valid=4)
    trainer = make_trainer(
        root,
        tmp_path / "state",
        {"d_model": 32, "d_ff": 64, "dropout": 0.0},
        batch_tokens=400,
        max_steps=250,
        validate_every=250,
        save_every=250,
        label_smoothing=0.0,
        learning_rate=0.01,
        warmup=20,
        weight_decay=0.0,
        schedule="linear",
    )
    trainer.validate = make_validator(root, trainer.config, "train")
    outcome = run(trainer)
    assert outcome.best.loss < 0.05
    assert outcome.best.scores["chrf"] > 95
    assert outcome.best.perplexity == pytest.approx(math.exp(outcome.best.loss), rel=1e-6)
    assert {sample.corpus for sample in outcome.best.samples} == set(CORPORA)
    assert all(sample.hypothesis == sample.reference for sample in outcome.best.samples)


@pytest.fixture(scope="module")
def unbroken(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Trainer, Outcome]:
    trainer = make_trainer(corpus, tmp_path_factory.mktemp("state"))
    return trainer, run(trainer)


def test_two_runs_are_equal(
    corpus: Path, tmp_path: Path, unbroken: tuple[Trainer, Outcome]
) -> None:
    trainer = make_trainer(corpus, tmp_path)
    outcome = run(trainer)
    assert outcome.progress.history == unbroken[1].progress.history
    assert same_weights(trainer.model, unbroken[0].model)
    assert [row["step"] for row in outcome.progress.history] == [4, 8, 12]


@pytest.mark.parametrize("steps", [1, 3, 4, 7, 11])
def test_interrupted_and_resumed_is_equal(
    corpus: Path, tmp_path: Path, unbroken: tuple[Trainer, Outcome], steps: int
) -> None:
    first = make_trainer(corpus, tmp_path)
    with pytest.raises(Interrupted):
        run(first, stop=lambda: first.progress.step == steps)
    assert first.progress.step == steps
    second = make_trainer(corpus, tmp_path)
    torch.rand(7)  # the random state must come from the saved one, not from the seed
    outcome = run(second)
    assert outcome.progress.history == unbroken[1].progress.history
    assert outcome.best == unbroken[1].best
    assert same_weights(second.model, unbroken[0].model)


@pytest.mark.parametrize("place", ["_update", "_validate", "_save", "_finish"])
def test_killed_anywhere_and_resumed_is_equal(
    corpus: Path, tmp_path: Path, unbroken: tuple[Trainer, Outcome], place: str
) -> None:
    for call in (1, 2, 3) if place == "_save" else (5,) if place == "_update" else (1,):

        def work(last: int = call) -> None:
            trainer = make_trainer(corpus, tmp_path)
            real, calls = getattr(trainer, place), [0]

            def deadly() -> None:
                calls[0] += 1
                if calls[0] == last:
                    die()
                real()

            setattr(trainer, place, deadly)
            run(trainer)

        assert in_child(work) == -9
    trainer = make_trainer(corpus, tmp_path)
    outcome = run(trainer)
    assert outcome.progress.history == unbroken[1].progress.history
    assert same_weights(trainer.model, unbroken[0].model)


def test_accumulation_equals_one_big_batch(corpus: Path, tmp_path: Path) -> None:
    """Plain SGD, so that equal gradients and nothing else give equal weights."""
    found = []
    for tokens, accumulate in ((10_000, 1), (60, 1000)):
        trainer = make_trainer(
            corpus, tmp_path / str(tokens), {"dropout": 0.0}, batch_tokens=tokens,
            accumulate=accumulate, clip=0.0,
        )  # fmt: skip
        assert len(trainer.data.updates(0)) == 1
        assert (len(trainer.data.updates(0)[0]) > 5) == (accumulate > 1)
        trainer.optimizer = torch.optim.SGD(trainer.model.parameters(), lr=0.1)  # type: ignore[assignment]
        trainer._update()
        trainer._look()
        found.append((snapshot(trainer.model), trainer.progress.loss_sum, trainer.progress.tokens))
    (big, big_loss, big_tokens), (small, small_loss, small_tokens) = found
    assert big_tokens == small_tokens
    assert big_loss == pytest.approx(small_loss, rel=1e-5)
    for name, weights in big.items():
        torch.testing.assert_close(small[name], weights, atol=1e-6, rtol=1e-4)


def test_gradient_is_that_of_the_mean_over_target_tokens(corpus: Path, tmp_path: Path) -> None:
    trainer = make_trainer(corpus, tmp_path, {"dropout": 0.0}, clip=1e9)
    rows = trainer.data.updates(0)[0][0]
    tokens = trainer.data.target_tokens([rows])
    assert tokens == sum(len(trainer.data.split.tgt(int(row))) + 1 for row in rows)
    loss = trainer._backward(rows, tokens)
    untrained = math.log(trainer.data.split.tgt_vocab)
    assert loss.item() / tokens == pytest.approx(untrained, rel=0.1)


def test_stops_early(corpus: Path, tmp_path: Path) -> None:
    trainer = make_trainer(
        corpus, tmp_path, learning_rate=1e-12, max_steps=100, validate_every=1, patience=3,
        select="bleu", average=1,
    )  # fmt: skip
    outcome = run(trainer)
    assert outcome.stopped_early
    assert outcome.progress.step == 4
    assert outcome.progress.best_step == 1
    # A state at the end gives the same end, without another update.
    again = run(make_trainer(corpus, tmp_path, learning_rate=1e-12, max_steps=100,
                             validate_every=1, patience=3, select="bleu", average=1))  # fmt: skip
    assert again.stopped_early
    assert again.progress.step == 4


def test_the_model_is_the_best_not_the_last(corpus: Path, tmp_path: Path) -> None:
    trainer = make_trainer(corpus, tmp_path, average=1)
    real = trainer._rate
    trainer._rate = lambda step: real(step) if step < 10 else 0.5  # type: ignore[method-assign]
    outcome = run(trainer)
    losses = [row["valid_loss"] for row in outcome.progress.history]
    assert min(losses) < losses[-1], "a setting that gets worse at last is needed here"
    assert outcome.best.loss == min(losses)
    assert trainer.validate(trainer.model, None).loss == min(losses)
    assert not outcome.stopped_early


def test_average_of_the_last_checkpoints_is_taken_only_if_better(
    corpus: Path, tmp_path: Path
) -> None:
    kept = []
    for number, (rate, count) in enumerate([(0.03, 3), (0.0001, 3)]):
        trainer = make_trainer(corpus, tmp_path / str(number), average=count, learning_rate=rate)
        outcome = run(trainer)
        singles = [row["valid_loss"] for row in outcome.progress.history]
        mean = average(outcome.progress.recent)
        trainer._set_weights(mean)
        averaged = trainer.validate(trainer.model, None).loss
        assert outcome.best.loss == min(*singles, averaged)
        assert outcome.averaged == (count if averaged < min(singles) else 0)
        kept.append(outcome.averaged)
    assert 0 in kept


def test_average_is_the_mean() -> None:
    checkpoints = [{"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([2.0, 6.0])}]
    assert average(checkpoints)["w"].tolist() == [1.5, 4.0]


def test_better_knows_which_way_is_up(unbroken: tuple[Trainer, Outcome]) -> None:
    import dataclasses

    one = unbroken[1].best
    lower = dataclasses.replace(one, loss=one.loss - 0.1)
    higher = dataclasses.replace(one, scores={**one.scores, "chrf": one.scores["chrf"] + 1})
    assert better("loss", lower, one)
    assert not better("loss", one, lower)
    assert better("chrf", higher, one)
    assert not better("chrf", one, higher)
    assert not better("chrf", one, one)
    assert not better("loss", one, one)


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        (7, "train: update 8: a loss of nan"),
        (6, "train: update 6: weights that are no numbers"),  # just before a save
        (8, "train: update 8: weights that are no numbers"),  # just before a validation
    ],
)
def test_divergence_is_told_in_one_line(
    corpus: Path, tmp_path: Path, spoilt: int, told: str
) -> None:
    trainer = make_trainer(corpus, tmp_path, {"norm": "post"})
    real = trainer._rate
    trainer._rate = lambda step: real(step) if step < spoilt else math.inf  # type: ignore[method-assign]
    with pytest.raises(HanyiError) as raised:
        run(trainer)
    line = str(raised.value)
    assert line.startswith(told)
    assert "lower train.learning_rate" in line
    assert "\n" not in line
    saved = trainer.state.load()
    assert saved is not None
    assert saved["progress"]["step"] < spoilt
    assert all(torch.isfinite(weights).all() for weights in saved["weights"].values())


def test_norms_biases_and_embeddings_do_not_decay(corpus: Path, tmp_path: Path) -> None:
    for tie in (True, False):
        trainer = make_trainer(corpus, tmp_path, {"tie_output": tie})
        names = {id(p): name for name, p in trainer.model.named_parameters()}
        decaying, steady = (
            {names[id(p)] for p in group["params"]} for group in trainer.optimizer.param_groups
        )
        assert [group["weight_decay"] for group in trainer.optimizer.param_groups] == [0.01, 0.0]
        assert decaying | steady == set(names.values())
        assert not decaying & steady
        assert all(name.endswith("weight") for name in decaying)
        assert ("output.weight" in decaying) == (not tie)
        for part in ("bias", "norm", "tokens"):
            assert not any(part in name.rsplit(".", 2)[-1] for name in decaying)
        assert {
            name for name in names.values() if "tokens.weight" in name or "bias" in name
        } <= steady


def test_resumes_where_epochs_differ(tmp_path: Path) -> None:
    """The weights leave some epochs without a row, and let others end amid the saved states."""
    root = make_corpus(tmp_path, train=12, weights=(0.06, 0.1))
    unbroken = make_trainer(root, tmp_path / "unbroken")
    outcome = run(unbroken)
    lengths = {len(unbroken.data.updates(epoch)) for epoch in range(outcome.progress.epoch + 1)}
    assert lengths >= {0, 1}
    for steps in (2, 3, 7, 11):
        first = make_trainer(root, tmp_path / str(steps))
        with pytest.raises(Interrupted):
            run(first, stop=lambda done=first.progress, at=steps: done.step == at)  # type: ignore[misc]
        second = make_trainer(root, tmp_path / str(steps))
        assert run(second).progress.history == outcome.progress.history
        assert same_weights(second.model, unbroken.model)


def test_reports_what_matters(
    corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        run(make_trainer(corpus, tmp_path, max_steps=4, average=1))
    for part in ("target tokens/s", "padding", "left", "perplexity", "BLEU", "chrF", "alpha"):
        assert part in caplog.text
    assert MODEL["layers"] == 1
