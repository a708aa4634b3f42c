from __future__ import annotations

import dataclasses
import logging
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from hanyi.errors import HanyiError
from hanyi.model.processes import ALONE
from hanyi.model.transformer import Transformer
from hanyi.training.averages import average, set_weights, snapshot
from hanyi.training.data import Tensors
from hanyi.training.feed import Feed, Loaded
from hanyi.training.fit import VARIABLE, padded_tokens
from hanyi.training.progress import better
from hanyi.training.trainer import Interrupted, Outcome, Trainer
from tests.training import (
    CORPORA,
    CPU,
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
    best = outcome.chosen.evaluation
    assert best.loss < 0.05
    assert best.scores["chrf"] > 95
    assert best.perplexity == pytest.approx(math.exp(best.loss), rel=1e-6)
    assert {sample.corpus for sample in best.samples} == set(CORPORA)
    assert all(sample.hypothesis == sample.reference for sample in best.samples)


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
    torch.rand(7)  # the position decides what is drawn, not what was drawn before
    outcome = run(second)
    assert outcome.progress.history == unbroken[1].progress.history
    assert outcome.chosen.evaluation == unbroken[1].chosen.evaluation
    assert same_weights(second.model, unbroken[0].model)


@pytest.mark.parametrize("place", ["_update", "_validate", "_save", "_finish"])
def test_killed_anywhere_and_resumed_is_equal(
    corpus: Path, tmp_path: Path, unbroken: tuple[Trainer, Outcome], place: str
) -> None:
    for call in (1, 2, 3) if place == "_save" else (5,) if place == "_update" else (1,):

        def work(last: int = call) -> None:
            trainer = make_trainer(corpus, tmp_path)
            real, calls = getattr(trainer, place), [0]

            def deadly(*arguments: Any) -> Any:
                calls[0] += 1
                if calls[0] == last:
                    die()
                return real(*arguments)

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
        updates = trainer.phase.data.updates(0)
        assert len(updates) == 1
        assert (len(updates[0]) > 5) == (accumulate > 1)
        trainer.optimizer = torch.optim.SGD(trainer.model.parameters(), lr=0.1, fused=True)  # type: ignore[assignment]
        trainer._update(first_update(trainer))
        trainer._look()
        found.append((snapshot(trainer.model), trainer.progress.loss_sum, trainer.progress.tokens))
    (big, big_loss, big_tokens), (small, small_loss, small_tokens) = found
    assert big_tokens == small_tokens
    assert big_loss == pytest.approx(small_loss, rel=1e-5)
    for name, weights in big.items():
        torch.testing.assert_close(small[name], weights, atol=1e-6, rtol=1e-4)


def first_update(trainer: Trainer) -> Loaded:
    return next(Feed(trainer.phase.data, ALONE, CPU).updates_from(0, 0))


def test_gradient_is_that_of_the_mean_over_target_tokens(corpus: Path, tmp_path: Path) -> None:
    trainer = make_trainer(corpus, tmp_path, {"dropout": 0.0})
    split = trainer.phase.data.split
    one = first_update(trainer)
    (rows,) = one.update.batches
    assert one.tokens == sum(len(split.tgt(row)) + 1 for row in rows.tolist())
    loss = trainer.gradients.add(one, 1, None)
    untrained = math.log(split.tgt_vocab)
    assert loss.item() / one.tokens == pytest.approx(untrained, rel=0.1)
    gradient = trainer.model.decoder_norm.bias.grad
    trainer.optimizer.zero_grad()
    twice = dataclasses.replace(one, tokens=2 * one.tokens, batches=[*one.batches, *one.batches])
    trainer.gradients.add(twice, 1, None)
    torch.testing.assert_close(trainer.model.decoder_norm.bias.grad, gradient)


def test_stops_early(corpus: Path, tmp_path: Path) -> None:
    trainer = make_trainer(
        corpus, tmp_path, learning_rate=1e-12, max_steps=100, validate_every=1, patience=3,
        select="bleu", average=1,
    )  # fmt: skip
    outcome = run(trainer)
    assert outcome.progress.early == 1
    assert outcome.progress.step == 4
    assert outcome.chosen.step == 1
    # A state at the end gives the same end, without another update.
    again = run(make_trainer(corpus, tmp_path, learning_rate=1e-12, max_steps=100,
                             validate_every=1, patience=3, select="bleu", average=1))  # fmt: skip
    assert again.progress.early == 1
    assert again.progress.step == 4


def test_the_model_is_the_best_not_the_last(corpus: Path, tmp_path: Path) -> None:
    trainer = make_trainer(corpus, tmp_path, average=1)
    real = trainer._rate
    trainer._rate = lambda: real() if trainer.progress.step < 10 else 0.5  # type: ignore[method-assign]
    outcome = run(trainer)
    losses = [row["valid_loss"] for row in outcome.progress.history]
    assert min(losses) < losses[-1], "a setting that gets worse at last is needed here"
    assert outcome.chosen.evaluation.loss == min(losses)
    assert trainer.validate(trainer.model, None).loss == min(losses)
    assert not outcome.progress.early


def test_average_of_the_last_checkpoints_is_taken_only_if_better(
    corpus: Path, tmp_path: Path
) -> None:
    for rate, averaged in ((0.1, 3), (0.0001, 0)):
        trainer = make_trainer(corpus, tmp_path / str(rate), average=3, learning_rate=rate)
        outcome = run(trainer)
        singles = [row["valid_loss"] for row in outcome.progress.history]
        mean = average(outcome.progress.recent)
        set_weights(trainer.model, mean)
        loss = trainer.validate(trainer.model, None).loss
        assert (loss < min(singles)) == bool(averaged), "a setting of either kind is needed here"
        assert outcome.chosen.evaluation.loss == min(*singles, loss)
        assert outcome.averaged == averaged


def test_average_is_the_mean() -> None:
    checkpoints = [{"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([2.0, 6.0])}]
    assert average(checkpoints)["w"].tolist() == [1.5, 4.0]


def test_better_knows_which_way_is_up(unbroken: tuple[Trainer, Outcome]) -> None:
    one = unbroken[1].chosen.evaluation
    lower = dataclasses.replace(one, loss=one.loss - 0.1)
    higher = dataclasses.replace(one, scores={**one.scores, "chrf": one.scores["chrf"] + 1})
    assert better("loss", lower, one)
    assert not better("loss", one, lower)
    assert better("chrf", higher, one)
    assert not better("chrf", one, higher)
    assert not better("chrf", one, one)
    assert not better("loss", one, one)
    broken = dataclasses.replace(one, loss=math.nan)
    assert better("loss", one, broken)
    assert not better("loss", broken, one)
    assert not better("loss", broken, broken)


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        (7, "train: update 8: weights that are no numbers"),
        (6, "train: update 6: weights that are no numbers"),  # just before a save
        (8, "train: update 8: weights that are no numbers"),  # just before a validation
    ],
)
def test_divergence_is_told_in_one_line(
    corpus: Path, tmp_path: Path, spoilt: int, told: str
) -> None:
    trainer = make_trainer(corpus, tmp_path, {"norm": "post"})
    real = trainer._rate
    trainer._rate = lambda: real() if trainer.progress.step < spoilt else math.inf  # type: ignore[method-assign]
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
    for tie in ("output", "none"):
        trainer = make_trainer(corpus, tmp_path, {"tie": tie})
        names = {id(p): name for name, p in trainer.model.named_parameters()}
        decaying, steady = (
            {names[id(p)] for p in group["params"]} for group in trainer.optimizer.param_groups
        )
        assert [group["weight_decay"] for group in trainer.optimizer.param_groups] == [0.01, 0.0]
        assert decaying | steady == set(names.values())
        assert not decaying & steady
        assert all(name.endswith("weight") for name in decaying)
        assert ("output.weight" in decaying) == (tie == "none")
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
    lengths = {
        len(unbroken.phase.data.updates(epoch)) for epoch in range(outcome.progress.epoch + 1)
    }
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


def test_the_best_by_each_criterion_is_kept(
    corpus: Path, unbroken: tuple[Trainer, Outcome]
) -> None:
    progress = unbroken[1].progress
    assert set(progress.best) == {"loss", "bleu", "chrf"}
    for name, kept in progress.best.items():
        values = [row["valid_loss" if name == "loss" else name] for row in progress.history]
        best = min(values) if name == "loss" else max(values)
        assert kept.evaluation.value(name) == best
        assert kept.step == progress.history[values.index(best)]["step"]
        trainer = make_trainer(corpus, unbroken[0].state.path)
        set_weights(trainer.model, kept.weights)
        assert trainer.validate(trainer.model, None) == kept.evaluation


def test_one_gradient_that_is_no_number_is_skipped_and_counted(
    corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = make_trainer(corpus, tmp_path, average=1)
    real = trainer.gradients.add

    def spoil(loaded: Loaded, step: int, dtype: Any) -> torch.Tensor:
        before = snapshot(trainer.model)
        loss = real(loaded, step, dtype)
        if step == 6:
            kept.append(before)
            trainer.model.decoder_norm.bias.grad[3] = math.nan
            return loss * math.nan
        if step == 7:
            kept.append(before)
        return loss

    kept: list[Any] = []
    trainer.gradients.add = spoil  # type: ignore[method-assign]
    outcome = run(trainer)
    assert outcome.progress.skipped == 1
    assert "skipped 1 updates" in caplog.text
    assert all(torch.equal(kept[0][name], kept[1][name]) for name in kept[0])
    assert all(math.isfinite(row["train_loss"]) for row in outcome.progress.history)


def test_a_spike_is_skipped_only_when_asked_for(corpus: Path, tmp_path: Path) -> None:
    for spike, skipped in ((0.0, 0), (5.0, 1)):
        trainer = make_trainer(
            corpus, tmp_path / str(spike), max_steps=110, validate_every=110, average=1,
            spike=spike, learning_rate=1e-5,
        )  # fmt: skip
        real = trainer.gradients.add

        def jump(loaded: Any, step: int, dtype: Any, real: Any = real, one: Any = trainer) -> Any:
            loss = real(loaded, step, dtype)
            if step == 105:
                for weights in one.model.parameters():
                    weights.grad *= 50
            return loss

        trainer.gradients.add = jump  # type: ignore[method-assign]
        assert run(trainer).progress.skipped == skipped


def test_trouble_in_a_low_precision_ends_in_the_full_one(corpus: Path, tmp_path: Path) -> None:
    trainer = make_trainer(
        corpus, tmp_path, precision="bf16", max_steps=24, validate_every=24, average=1
    )
    real = trainer.gradients.add

    def spoil(loaded: Loaded, step: int, dtype: Any) -> torch.Tensor:
        loss = real(loaded, step, dtype)
        return _spoilt(trainer.model, loss) if dtype is torch.bfloat16 else loss

    trainer.gradients.add = spoil  # type: ignore[method-assign]
    outcome = run(trainer)
    assert outcome.progress.full_precision
    assert outcome.progress.skipped == 10


def test_a_stop_amid_trouble_does_not_change_how_training_goes_on(
    corpus: Path, tmp_path: Path
) -> None:
    """Ten updates in a row are skipped, but none of those at which the precision is decided on."""

    def make(name: str) -> Trainer:
        trainer = make_trainer(
            corpus, tmp_path / name, precision="bf16", max_steps=24, validate_every=24,
            save_every=24, average=1,
        )  # fmt: skip
        real = trainer.gradients.add

        def spoil(loaded: Loaded, step: int, dtype: Any) -> torch.Tensor:
            loss = real(loaded, step, dtype)
            return _spoilt(trainer.model, loss) if 6 <= step <= 15 else loss

        trainer.gradients.add = spoil  # type: ignore[method-assign]
        return trainer

    unbroken = make("unbroken")
    outcome = run(unbroken)
    first = make("broken")
    with pytest.raises(Interrupted):
        run(first, stop=lambda: first.progress.step == 15)
    second = make("broken")
    assert run(second).progress.history == outcome.progress.history
    assert second.progress.full_precision == unbroken.progress.full_precision
    assert same_weights(second.model, unbroken.model)


def test_trouble_in_full_precision_ends_the_training(corpus: Path, tmp_path: Path) -> None:
    trainer = make_trainer(corpus, tmp_path, max_steps=40, validate_every=40)
    real = trainer.gradients.add
    trainer.gradients.add = lambda *a: _spoilt(trainer.model, real(*a))  # type: ignore[method-assign]
    with pytest.raises(HanyiError, match="skipped updates in a row"):
        run(trainer)


def _spoilt(model: Transformer, loss: torch.Tensor) -> torch.Tensor:
    model.decoder_norm.bias.grad[0] = math.inf
    return loss


def test_the_moving_average_is_what_is_validated_and_kept(corpus: Path, tmp_path: Path) -> None:
    trainer = make_trainer(corpus, tmp_path, ema=0.5, average=1, select="loss")
    mean = snapshot(trainer.model)
    real = trainer._update

    def follow(loaded: Any) -> None:
        real(loaded)
        step = trainer.progress.step
        decay = min(0.5, (1 + step) / (10 + step))
        for name, weights in trainer.model.named_parameters():
            mean[name] = decay * mean[name] + (1 - decay) * weights.detach()
        if step == 12:
            last.update({name: weights.clone() for name, weights in mean.items()})
            own.update(snapshot(trainer.model))

    last: dict[str, torch.Tensor] = {}
    own: dict[str, torch.Tensor] = {}
    trainer._update = follow  # type: ignore[method-assign]
    outcome = run(trainer)
    kept = outcome.progress.best["loss"]
    assert kept.step == 12, "a setting that gets better all the time is needed here"
    for name, weights in kept.weights.items():
        torch.testing.assert_close(weights, last[name], atol=1e-6, rtol=1e-5)
        assert not torch.equal(weights, own[name])


FINETUNE = {"max_steps": 6, "weights": {"beta": 2}, "learning_rate": 0.001, "warmup": 1}


def test_finetuning_learns_from_its_own_corpora(corpus: Path, tmp_path: Path) -> None:
    trainer = make_trainer(corpus, tmp_path, finetune=FINETUNE)
    split = trainer.phase.data.split
    rows: list[set[int]] = [set(), set()]
    rates = []
    real = trainer._update

    def watch(loaded: Any) -> None:
        rows[trainer.progress.phase] |= {
            int(row) for batch in loaded.update.batches for row in batch
        }
        real(loaded)
        rates.append(trainer.optimizer.param_groups[0]["lr"])

    trainer._update = watch  # type: ignore[method-assign]
    outcome = run(trainer)
    assert outcome.progress.step == 18
    assert [row["step"] for row in outcome.progress.history] == [4, 8, 12, 16, 18]
    named = [{split.corpora[split.corpus[row]] for row in seen} for seen in rows]
    assert named == [{"alpha", "beta"}, {"beta"}]
    assert rates[12] == pytest.approx(0.001)
    assert rates[17] < rates[12]
    epochs = [row["epoch"] for row in outcome.progress.history]
    assert epochs == sorted(epochs), "the second phase counts on"
    assert epochs[-1] > epochs[2]


def test_finetuning_begins_from_the_best_weights(corpus: Path, tmp_path: Path) -> None:
    trainer = make_trainer(corpus, tmp_path, finetune=FINETUNE, average=1)
    real = trainer._update
    seen = []

    def watch(loaded: Any) -> None:
        if trainer.progress.step == 12:
            seen.append(snapshot(trainer.model))
            seen.append(dict(trainer.progress.best["loss"].weights))
            seen.append(len(trainer.optimizer.state))
            seen.append(trainer.guard.to_tensor().tolist())
        real(loaded)

    trainer._update = watch  # type: ignore[method-assign]
    run(trainer)
    assert all(torch.equal(seen[0][name], seen[1][name]) for name in seen[0])
    assert seen[2] == 0, "the moments of the first phase do not belong to these weights"
    assert seen[3][:2] == [0, 0], "nor do its norms to these data"


def test_finetuning_on_a_corpus_that_is_not_there_is_told(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(HanyiError, match=r"train.finetune.weights: gamma, expected .*alpha, beta"):
        make_trainer(corpus, tmp_path, finetune={**FINETUNE, "weights": {"gamma": 1}})


def test_finetuning_follows_an_early_stop(corpus: Path, tmp_path: Path) -> None:
    """The first phase ends after its fourth validation, the second one before its first is due."""
    changes: dict[str, Any] = {
        "learning_rate": 1e-12, "max_steps": 100, "validate_every": 3, "patience": 3,
        "select": "bleu", "average": 1, "ema": 0.9,
        "finetune": {**FINETUNE, "max_steps": 2},
    }  # fmt: skip
    unbroken = make_trainer(corpus, tmp_path / "unbroken", **changes)
    outcome = run(unbroken)
    assert [row["step"] for row in outcome.progress.history] == [3, 6, 9, 12, 14]
    assert outcome.progress.early == 1
    for steps in (12, 13, 14):
        first = make_trainer(corpus, tmp_path / str(steps), **changes)
        with pytest.raises(Interrupted):
            run(first, stop=lambda done=first.progress, at=steps: done.step == at)  # type: ignore[misc]
        second = make_trainer(corpus, tmp_path / str(steps), **changes)
        found = run(second)
        assert found.progress.history == outcome.progress.history
        assert found.progress.early == 1
        assert same_weights(second.model, unbroken.model)


def test_a_budget_of_memory_outlives_a_stop_and_may_be_lowered(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    first = make_trainer(corpus, tmp_path)
    first.gradients.fit.budget = 30
    with pytest.raises(Interrupted):
        run(first, stop=lambda: first.progress.step == 5)
    for asked, budget in ((None, 30), ("20", 20), ("40", 30)):
        if asked:
            monkeypatch.setenv(VARIABLE, asked)
        second = make_trainer(corpus, tmp_path)
        second._resume()
        assert second.gradients.fit.budget == budget


def test_an_update_begun_again_is_that_of_a_batch_cut_from_the_start(
    corpus: Path, tmp_path: Path
) -> None:
    """The same to the last bit, dropout included."""
    tight, cut = (make_trainer(corpus, tmp_path / name) for name in ("tight", "cut"))
    assert tight.model.training
    real = tight.gradients.loss.forward

    def forward(batch: Tensors) -> torch.Tensor:
        loss: torch.Tensor = real(batch)
        if padded_tokens(batch) > 30:
            loss.backward()  # type: ignore[no-untyped-call]
            raise torch.OutOfMemoryError("CUDA out of memory")
        return loss

    tight.gradients.loss.forward = forward  # type: ignore[method-assign]
    tight.gradients.add(first_update(tight), 1, None)
    budget = tight.gradients.fit.budget
    assert budget is not None
    cut.gradients.fit.budget = budget
    cut.gradients.add(first_update(cut), 1, None)
    for one, other in zip(tight.model.parameters(), cut.model.parameters(), strict=True):
        assert one.grad is not None
        assert torch.equal(one.grad, other.grad)  # type: ignore[arg-type]


WHOLE = {
    "bpe_dropout": 0.2, "r_drop": 2.0, "ema": 0.9, "spike": 20.0, "average": 2, "accumulate": 2,
    "finetune": FINETUNE,
}  # fmt: skip


@pytest.mark.parametrize("steps", [1, 5, 11, 12, 13, 17])
def test_everything_at_once_resumes_exactly(corpus: Path, tmp_path: Path, steps: int) -> None:
    unbroken = make_trainer(corpus, tmp_path / "unbroken", **WHOLE)
    outcome = run(unbroken)
    first = make_trainer(corpus, tmp_path / "broken", **WHOLE)
    with pytest.raises(Interrupted):
        run(first, stop=lambda: first.progress.step == steps)
    second = make_trainer(corpus, tmp_path / "broken", **WHOLE)
    found = run(second)
    assert found.progress.history == outcome.progress.history
    assert same_weights(second.model, unbroken.model)
    for name, kept in found.progress.best.items():
        assert kept.step == outcome.progress.best[name].step
        for key, weights in kept.weights.items():
            assert torch.equal(weights, outcome.progress.best[name].weights[key])
