"""Label-smoothed cross-entropy on real tokens, with its gradient made in the forward pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hanyi.model.transformer import Transformer
from hanyi.tokens.vocab import PAD
from hanyi.training.data import Tensors


class Loss(NamedTuple):
    """Sums over the real target tokens, in nats: divide by their count to compare batches."""

    total: Tensor  # label-smoothed cross-entropy; differentiable
    nll: Tensor  # negative log-likelihood, without smoothing; not differentiable


def sequence_loss(model: Transformer, batch: Tensors, smoothing: float) -> Loss:
    """Give the loss of a teacher-forced batch.

    PAD positions are left out before the output layer, the costliest at small widths, sees them.
    """
    hidden = model.decode(batch.tgt_in, model.encode(batch.src))
    real = (batch.tgt_out != PAD).flatten().nonzero().squeeze(1)
    logits = model.output(hidden.flatten(0, 1).index_select(0, real))
    targets = batch.tgt_out.flatten().index_select(0, real)
    return smoothed_cross_entropy(logits.float(), targets, smoothing)


def smoothed_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float) -> Loss:
    """Give the summed cross-entropy against (1 - smoothing) on the target, the rest spread evenly.

    `logits` is `[tokens, tgt_vocab]` in float32 and is overwritten; `targets` is `[tokens]`. Equals
    PyTorch's `cross_entropy(..., label_smoothing=smoothing, reduction="sum")`, which is the KL
    divergence from the smoothed distribution plus a constant (Szegedy et al. 2016, 7; Vaswani
    et al. 2017, 5.4).
    """
    total, nll = _SmoothedCrossEntropy.apply(logits, targets, smoothing)  # type: ignore[no-untyped-call]
    return Loss(total, nll)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Turns the logits into their gradient in place: one softmax, no copy kept, x1.4 on a CPU.

    With p = softmax(logits) and q the smoothed distribution, the loss is -sum(q log p) and its
    gradient p - q.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        tgt_vocab = logits.shape[1]
        target = targets.unsqueeze(1)
        highest = logits.amax(dim=1, keepdim=True)
        hit = logits.gather(1, target)
        mean = logits.mean(dim=1, keepdim=True)
        probabilities = torch.softmax(logits, dim=1, out=logits)
        # The likeliest token's logit is log_sum + log p, with p >= 1 / tgt_vocab: safe and cheap.
        log_sum = highest - probabilities.amax(dim=1, keepdim=True).log()
        nll = log_sum - hit
        total = (1.0 - smoothing) * nll + smoothing * (log_sum - mean)
        gradient = probabilities.sub_(smoothing / tgt_vocab)
        gradient.scatter_add_(1, target, torch.full_like(hit, smoothing - 1.0))
        ctx.save_for_backward(gradient)
        nll_sum = nll.sum()
        ctx.mark_non_differentiable(nll_sum)
        return total.sum(), nll_sum

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_total: Tensor, _by_nll: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(by_total), None, None
