from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from hanyi.model.transformer import Transformer
from hanyi.tokens.vocab import BOS, EOS, PAD
from hanyi.training.data import Tensors
from hanyi.training.loss import sequence_loss, smoothed_cross_entropy
from tests.training import model_config


def draw(
    tokens: int = 23, vocab: int = 31, scale: float = 3.0
) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    logits = (torch.randn(tokens, vocab) * scale).requires_grad_()
    return logits, torch.randint(0, vocab, (tokens,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("scale", [0.1, 3.0, 200.0])
def test_equals_pytorch(smoothing: float, scale: float) -> None:
    logits, targets = draw(scale=scale)
    expected = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    (gradient,) = torch.autograd.grad(0.25 * expected, logits)
    nll = F.cross_entropy(logits, targets, reduction="sum")
    found = smoothed_cross_entropy(logits.clone(), targets, smoothing)
    (found_gradient,) = torch.autograd.grad(0.25 * found.total, logits)
    torch.testing.assert_close(found.total, expected)
    torch.testing.assert_close(found.nll, nll)
    torch.testing.assert_close(found_gradient, gradient, atol=1e-6, rtol=1e-5)


def test_equals_kl_divergence_plus_a_constant() -> None:
    smoothing, vocab = 0.1, 31
    constants = []
    for scale in (0.5, 2.0, 8.0):
        logits, targets = draw(vocab=vocab, scale=scale)
        smoothed = torch.full_like(logits, smoothing / vocab)
        smoothed.scatter_(1, targets[:, None], 1 - smoothing + smoothing / vocab)
        kl = F.kl_div(logits.log_softmax(1), smoothed, reduction="sum")
        loss = smoothed_cross_entropy(logits.detach().clone(), targets, smoothing).total
        constants.append((loss - kl).item())
        entropy = -(smoothed * smoothed.log()).sum().item()
        assert constants[-1] == pytest.approx(entropy, rel=1e-4)
    assert constants == pytest.approx([constants[0]] * 3, rel=1e-4)


def test_padding_counts_for_nothing() -> None:
    torch.manual_seed(0)
    model = Transformer(model_config(dropout=0.0), 40, 50)
    src = torch.tensor([[7, 8, 9, EOS], [5, EOS, PAD, PAD]])
    tgt_in = torch.tensor([[BOS, 11, 12], [BOS, 13, PAD]])
    tgt_out = torch.tensor([[11, 12, EOS], [13, EOS, PAD]])
    found = sequence_loss(model, Tensors(src, tgt_in, tgt_out), 0.1)
    logits = model(src, tgt_in)
    expected = F.cross_entropy(
        logits.flatten(0, 1),
        tgt_out.flatten(),
        label_smoothing=0.1,
        ignore_index=PAD,
        reduction="sum",
    )
    torch.testing.assert_close(found.total, expected)
    expected.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    found.total.backward()
    assert gradients
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name], atol=1e-5, rtol=1e-4)


def test_a_second_backward_is_refused_not_wrong() -> None:
    logits, targets = draw()
    total = smoothed_cross_entropy(logits.clone(), targets, 0.1).total
    total.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
