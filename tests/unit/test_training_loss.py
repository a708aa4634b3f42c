from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from hanyi.model.transformer import Transformer
from hanyi.tokens.vocab import BOS, EOS, PAD
from hanyi.training import loss as module
from hanyi.training.data import Tensors
from hanyi.training.loss import Loss, output_loss, sequence_loss
from tests.training import model_config

TOKENS, D_MODEL, VOCAB = 23, 8, 31


@pytest.fixture(params=[1, 5, 1000])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(module, "CHUNK", request.param)
    return int(request.param)


def draw(
    passes: int = 1, scale: float = 3.0, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    hidden = torch.randn(passes, TOKENS, D_MODEL, dtype=dtype).requires_grad_()
    weight = (torch.randn(VOCAB, D_MODEL, dtype=dtype) * scale).requires_grad_()
    return hidden, weight, torch.randint(0, VOCAB, (TOKENS,))


def plain(
    hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float, r_drop: float = 0.0
) -> Loss:
    """Write down the published formulas."""
    logits = [F.linear(states, weight).float() for states in hidden]
    total = nll = torch.zeros(())
    for one in logits:
        smoothed = F.cross_entropy(one, targets, label_smoothing=smoothing, reduction="sum")
        total = total + smoothed / len(logits)
        nll = nll + F.cross_entropy(one, targets, reduction="sum") / len(logits)
    if r_drop:
        p, q = (one.log_softmax(1) for one in logits)
        both = (p.exp() * (p - q)).sum() + (q.exp() * (q - p)).sum()
        total = total + r_drop / 4 * both
    return Loss(total, nll)


@pytest.mark.parametrize("scale", [0.1, 3.0, 70.0])
@pytest.mark.parametrize(("smoothing", "r_drop"), [(0.0, 0.0), (0.1, 0.0), (0.5, 0.0), (0.1, 5.0)])
def test_equals_the_formula(chunk: int, scale: float, smoothing: float, r_drop: float) -> None:
    hidden, weight, targets = draw(2 if r_drop else 1, scale)
    expected = plain(hidden, weight, targets, smoothing, r_drop)
    found = output_loss(hidden, weight, targets, smoothing, r_drop)
    torch.testing.assert_close(found.total, expected.total)
    torch.testing.assert_close(found.nll, expected.nll)
    assert not found.nll.requires_grad
    wanted = torch.autograd.grad(0.25 * expected.total, (hidden, weight))
    got = torch.autograd.grad(0.25 * found.total, (hidden, weight))
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4 * scale, rtol=1e-4)


@pytest.mark.parametrize("r_drop", [0.0, 5.0])
def test_gradient_is_that_of_finite_differences(chunk: int, r_drop: float) -> None:
    hidden, weight, targets = draw(2 if r_drop else 1, 0.5, torch.float64)
    total = output_loss(hidden, weight, targets, 0.1, r_drop).total
    by_hidden, by_weight = torch.autograd.grad(total, (hidden, weight))
    for _ in range(5):
        one, other = 1e-5 * torch.randn_like(hidden), 1e-5 * torch.randn_like(weight)
        up, down = (
            output_loss(hidden + sign * one, weight + sign * other, targets, 0.1, r_drop).total
            for sign in (1, -1)
        )
        expected = (by_hidden * one).sum() + (by_weight * other).sum()
        torch.testing.assert_close((up - down) / 2, expected, rtol=1e-5, atol=1e-9)


def test_equals_kl_divergence_plus_a_constant() -> None:
    smoothing = 0.1
    constants = []
    for scale in (0.5, 2.0, 8.0):
        hidden, weight, targets = draw(scale=scale)
        logits = F.linear(hidden[0], weight)
        smoothed = torch.full_like(logits, smoothing / VOCAB)
        smoothed.scatter_(1, targets[:, None], 1 - smoothing + smoothing / VOCAB)
        kl = F.kl_div(logits.log_softmax(1), smoothed, reduction="sum")
        constants.append((output_loss(hidden, weight, targets, smoothing).total - kl).item())
        entropy = -(smoothed * smoothed.log()).sum().item()
        assert constants[-1] == pytest.approx(entropy, rel=1e-4)


@pytest.mark.parametrize("differentiable", [True, False])
def test_logits_of_one_chunk_at_once(monkeypatch: pytest.MonkeyPatch, differentiable: bool) -> None:
    monkeypatch.setattr(module, "CHUNK", 7)
    seen = []
    real = module._loss

    def watched(logits: Tensor, *rest: object) -> object:
        seen.append(tuple(logits.shape))
        return real(logits, *rest)

    monkeypatch.setattr(module, "_loss", watched)
    hidden, weight, targets = draw()
    kept: list[tuple[int, ...]] = []
    keep = torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: kept.append(tuple(tensor.shape)), lambda _: torch.empty(0)
    )
    with torch.set_grad_enabled(differentiable), keep:
        output_loss(hidden, weight, targets, 0.1)
    assert seen == [(1, 7, VOCAB)] * 3 + [(1, 2, VOCAB)]
    assert kept == [(1, TOKENS, D_MODEL), (VOCAB, D_MODEL)] * differentiable


def test_products_are_in_the_type_of_autocast_and_the_loss_in_float32(chunk: int) -> None:
    hidden, weight, targets = draw(scale=0.5)
    with torch.autocast("cpu", torch.bfloat16):
        found = output_loss(hidden, weight, targets, 0.1)
        expected = plain(hidden, weight, targets, 0.1)
    assert found.total.dtype == found.nll.dtype == torch.float32
    # The same rounded logits: far closer than bfloat16 is to float32.
    torch.testing.assert_close(found.total, expected.total)
    assert found.total != output_loss(hidden, weight, targets, 0.1).total
    found.total.backward()
    got = (hidden.grad, weight.grad)
    wanted = torch.autograd.grad(plain(hidden, weight, targets, 0.1).total, (hidden, weight))
    for one, other in zip(got, wanted, strict=True):
        assert one is not None
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, atol=0.05, rtol=0.05)


def test_without_gradients_no_product_is_made_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, weight, targets = draw()
    expected = output_loss(hidden, weight, targets, 0.1)
    counted = FlopCounterMode(display=False)
    with torch.no_grad(), counted:
        found = output_loss(hidden, weight, targets, 0.1)
    assert counted.get_total_flops() == 2 * TOKENS * D_MODEL * VOCAB
    torch.testing.assert_close(found, expected)
    assert not found.total.requires_grad


def test_a_second_backward_is_refused_not_wrong() -> None:
    total = output_loss(*draw(), 0.1).total
    total.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


SRC = torch.tensor([[7, 8, 9, EOS], [5, EOS, PAD, PAD]])
TGT_IN = torch.tensor([[BOS, 11, 12], [BOS, 13, PAD]])
TGT_OUT = torch.tensor([[11, 12, EOS], [13, EOS, PAD]])
BATCH = Tensors(SRC, TGT_IN, TGT_OUT, real=torch.tensor([0, 1, 2, 3, 4]))


def make_model(**changes: object) -> Transformer:
    torch.manual_seed(0)
    return Transformer(model_config(**changes), 40, 50)


def gradients(model: Transformer, total: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    total.backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    assert len(found) == len(list(model.parameters()))
    return found


@pytest.mark.parametrize("tie", ["output", "none"])
def test_padding_counts_for_nothing(tie: str) -> None:
    model = make_model(dropout=0.0, tie=tie)
    found = sequence_loss(model, BATCH, 0.1)
    expected = F.cross_entropy(
        model(SRC, TGT_IN).flatten(0, 1),
        TGT_OUT.flatten(),
        label_smoothing=0.1,
        ignore_index=PAD,
        reduction="sum",
    )
    torch.testing.assert_close(found.total, expected)
    got, wanted = gradients(model, found.total), gradients(model, expected)
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=1e-4)


def test_without_dropout_r_drop_changes_nothing() -> None:
    model = make_model(dropout=0.0)
    found, expected = sequence_loss(model, BATCH, 0.1, 5.0), sequence_loss(model, BATCH, 0.1)
    torch.testing.assert_close(found, expected)
    got, wanted = gradients(model, found.total), gradients(model, expected.total)
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=1e-4)


def test_r_drop_compares_two_passes_with_other_dropout() -> None:
    model = make_model(dropout=0.3)
    torch.manual_seed(1)
    found = sequence_loss(model, BATCH, 0.1, 5.0)
    got = gradients(model, found.total)
    torch.manual_seed(1)
    hidden = model.decode(TGT_IN.repeat(2, 1), model.encode(SRC.repeat(2, 1)))
    passes = torch.stack([half.flatten(0, 1)[:5] for half in hidden.chunk(2)])
    assert (passes[0] - passes[1]).abs().max() > 0.1
    expected = plain(passes, model.output.weight, TGT_OUT.flatten()[:5], 0.1, 5.0)
    torch.testing.assert_close(found.total, expected.total)
    torch.testing.assert_close(found.nll, expected.nll)
    assert found.total > plain(passes, model.output.weight, TGT_OUT.flatten()[:5], 0.1).total
    wanted = gradients(model, expected.total)
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=1e-4)
