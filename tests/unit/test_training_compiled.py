"""Compiled layers compute what the plain ones do, for all shapes, and are never in the way."""

from __future__ import annotations

import logging
import shutil

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from hanyi.errors import ParamsError
from hanyi.training.compiled import VARIABLE, Stacks, compiled, compiling_wanted
from hanyi.training.data import Tensors
from hanyi.training.loss import sequence_loss
from tests.models import random_batch, tiny_model

SHAPES = [(8, 16, 24), (16, 16, 16), (24, 8, 24), (8, 136, 16), (16, 8, 160), (1, 8, 1)]


@pytest.fixture(autouse=True)
def fresh_compiler() -> None:
    torch.compiler.reset()


def batch_of(rows: int, src_len: int, tgt_len: int) -> Tensors:
    src, tgt = random_batch(1, rows, src_len, tgt_len)
    return Tensors(src, tgt, tgt, tgt.flatten().nonzero().squeeze(1))


def gradients(stacks: Stacks, model: torch.nn.Module, batch: Tensors) -> list[torch.Tensor]:
    model.zero_grad()
    loss = sequence_loss(stacks, batch, 0.1)  # type: ignore[arg-type]
    loss.total.backward()
    return [loss.total.detach(), *(weights.grad.clone() for weights in model.parameters())]


def same(backend: str, shapes: list[tuple[int, int, int]]) -> None:
    model = tiny_model(layers=1).train()
    stacks = compiled(model, longest=200, backend=backend)
    assert stacks.encode != model.encode
    for shape in shapes:
        batch = batch_of(*shape)
        plain = gradients(Stacks(model), model, batch)
        for one, other in zip(plain, gradients(stacks, model, batch), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_traced_layers_equal_plain_ones() -> None:
    same("eager", SHAPES)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler")
def test_compiled_layers_equal_plain_ones() -> None:
    same("inductor", SHAPES[:2])


def test_layers_with_dropout_can_be_traced(caplog: pytest.LogCaptureFixture) -> None:
    model = tiny_model(layers=1, dropout=0.5).train()
    stacks = compiled(model, longest=200, backend="aot_eager")
    for shape in SHAPES:
        batch = batch_of(*shape)
        once, again = (gradients(stacks, model, batch)[0] for _ in range(2))
        assert once.isfinite()
        assert not torch.equal(once, again)
    assert "without compiling" not in caplog.text


def test_all_shapes_share_one_program_for_each_stack() -> None:
    counter = CompileCounter()
    model = tiny_model(layers=1).train()
    stacks = compiled(model, longest=200, backend=counter)
    for shape in SHAPES[:-1]:
        gradients(stacks, model, batch_of(*shape))
    assert counter.frame_count == 2


def test_names_and_mode_of_the_model_stay() -> None:
    model = tiny_model(layers=1)
    names = list(dict(model.named_parameters()))
    compiled(model, backend="eager")
    assert list(dict(model.named_parameters())) == names
    assert list(model.state_dict()) == list(tiny_model(layers=1).state_dict())
    assert not model.training
    assert all(weights.grad is None for weights in model.parameters())


def test_a_compiler_that_fails_is_told_once_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no compiler here\nand a long story")

    model = tiny_model(layers=1).train()
    with caplog.at_level(logging.WARNING, logger="hanyi"):
        stacks = compiled(model, backend=broken)
    assert stacks.encode == model.encode
    ours = [record for record in caplog.records if record.name.startswith("hanyi")]
    assert len(ours) == 1
    assert "going on without compiling" in caplog.text
    gradients(stacks, model, batch_of(*SHAPES[0]))


@pytest.mark.parametrize(
    ("asked", "on_cpu", "on_cuda"),
    [
        (None, False, True),
        ("", False, True),
        ("auto", False, True),
        ("on", True, True),
        ("off", False, False),
    ],
)
def test_compiling_is_for_gpus_unless_asked(
    monkeypatch: pytest.MonkeyPatch, asked: str | None, on_cpu: bool, on_cuda: bool
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if asked is not None:
        monkeypatch.setenv(VARIABLE, asked)
    assert compiling_wanted(torch.device("cpu")) is on_cpu
    assert compiling_wanted(torch.device("cuda")) is on_cuda


def test_another_wish_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "fast")
    with pytest.raises(ParamsError, match=r"HANYI_COMPILE.*auto, on or off"):
        compiling_wanted(torch.device("cpu"))
