"""Label-smoothed cross-entropy and R-Drop on real tokens, their gradients made on the way."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812

from hanyi.model.transformer import Transformer
from hanyi.training.compiled import Stacks
from hanyi.training.data import Tensors

CHUNK = 1024
"""Tokens whose logits are held at once: fewer make poor products, more fall out of caches."""


class Loss(NamedTuple):
    """Sums over the real target tokens, in nats: divide by their count to compare batches."""

    total: Tensor  # what is minimised; differentiable
    nll: Tensor  # negative log-likelihood, without smoothing; not differentiable


def sequence_loss(
    model: Transformer | Stacks, batch: Tensors, smoothing: float, r_drop: float = 0.0
) -> Loss:
    """Give the loss of a teacher-forced batch.

    With `r_drop` over 0 (the paper's alpha) the batch goes through the model twice, with other
    dropout. The loss is then the mean of both cross-entropies plus alpha / 4 times the divergences
    KL(p1 || p2) + KL(p2 || p1): half of the paper's sum, so as large as the loss of a single pass
    (Liang et al. 2021, 2.1).
    """
    passes = 2 if r_drop else 1
    memory = model.encode(batch.src.repeat(passes, 1))
    hidden = model.decode(batch.tgt_in.repeat(passes, 1), memory)
    # PAD is left out before the output layer, the costliest at small widths, sees it.
    hidden = hidden.view(passes, -1, hidden.size(-1)).index_select(1, batch.real)
    targets = batch.tgt_out.flatten().index_select(0, batch.real)
    return output_loss(hidden, model.output.weight, targets, smoothing, r_drop)


def output_loss(
    hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float, r_drop: float = 0.0
) -> Loss:
    """Give the loss of hidden states; the logits of only a chunk of tokens exist at once.

    `hidden` is `[passes, tokens, d_model]`, two passes for R-Drop, else one; `weight` is that of
    the output layer, `[tgt_vocab, d_model]`; `targets` is `[tokens]`. Products are in the type of
    autocast, the loss is in float32.
    """
    device = hidden.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
    how = _How(smoothing, r_drop, dtype, differentiable=torch.is_grad_enabled())
    with torch.autocast(device, enabled=False):
        return Loss(*_OutputLoss.apply(hidden, weight, targets, how))  # type: ignore[no-untyped-call]


class _How(NamedTuple):
    smoothing: float
    r_drop: float
    dtype: torch.dtype  # of products
    differentiable: bool


class _OutputLoss(torch.autograd.Function):
    """Makes the gradients of both inputs in the forward pass: logits are made once, not kept."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, how: _How
    ) -> tuple[Tensor, Tensor]:
        cast = weight.to(how.dtype)
        sums = hidden.new_zeros(2, dtype=torch.promote_types(hidden.dtype, torch.float32))
        by_hidden, by_weight = torch.empty_like(hidden), None
        for begin in range(0, len(targets), CHUNK):
            places = slice(begin, begin + CHUNK)
            states = hidden[:, places].to(how.dtype)
            logits = F.linear(states, cast).to(sums.dtype)
            loss, gradient = _loss(logits, targets[places], how.smoothing, how.r_drop)
            sums += torch.stack(loss)
            if not how.differentiable:
                continue
            gradient = gradient.to(how.dtype)
            by_hidden[:, places] = gradient @ cast
            products = gradient.flatten(0, 1).t(), states.flatten(0, 1)
            if by_weight is None:
                by_weight = torch.mm(*products).to(weight.dtype)
            elif how.dtype == weight.dtype:
                by_weight.addmm_(*products)
            else:
                by_weight.add_(torch.mm(*products))
        if by_weight is None:  # no targets: a process may have none of a small batch
            by_weight = torch.zeros_like(weight)
        ctx.save_for_backward(by_hidden, by_weight)
        total, nll = sums.clone().unbind()
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_total: Tensor, _by_nll: Tensor) -> tuple[Tensor, Tensor, None, None]:
        by_hidden, by_weight = ctx.saved_tensors
        # In place: fresh memory of the weight's size costs more than the product.
        return by_hidden.mul_(by_total), by_weight.mul_(by_total), None, None


def _loss(logits: Tensor, targets: Tensor, smoothing: float, r_drop: float) -> tuple[Loss, Tensor]:
    """Give the loss of logits `[passes, tokens, tgt_vocab]`, and in their place its gradient.

    With p = softmax(logits) and q the smoothed target, cross-entropy is -sum(q log p), the KL
    divergence from q plus a constant (Szegedy et al. 2016, 7; Vaswani et al. 2017, 5.4), and its
    gradient p - q.
    """
    passes = len(logits)
    target = targets.expand(passes, -1).unsqueeze(2)
    highest = logits.amax(dim=2, keepdim=True)
    hit = logits.gather(2, target)
    mean = logits.mean(dim=2, keepdim=True)
    log_ratio = logits[0] - logits[1] if r_drop else None
    probabilities = torch.softmax(logits, dim=2, out=logits)
    # The likeliest token's logit is log_sum + log p, with p >= 1 / tgt_vocab: safe and cheap.
    log_sum = highest - probabilities.amax(dim=2, keepdim=True).log()
    nll = log_sum - hit
    total = ((1.0 - smoothing) * nll + smoothing * (log_sum - mean)).sum() / passes
    if log_ratio is None:
        gradient = _without_target(probabilities, target, smoothing)
    else:
        log_ratio -= log_sum[0] - log_sum[1]
        divergence, by_logits = _divergences(probabilities, log_ratio)
        total += r_drop / 4.0 * divergence
        gradient = _without_target(probabilities, target, smoothing).mul_(1.0 / passes)
        gradient.add_(by_logits, alpha=r_drop / 4.0)
    return Loss(total, nll.sum() / passes), gradient


def _without_target(probabilities: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """Turn p into p - q, in place."""
    probabilities.sub_(smoothing / probabilities.size(2))
    share = probabilities.new_full(target.shape, smoothing - 1.0)
    return probabilities.scatter_add_(2, target, share)


def _divergences(probabilities: Tensor, log_ratio: Tensor) -> tuple[Tensor, Tensor]:
    """Give KL(p1 || p2) + KL(p2 || p1), and its gradient by the logits of both.

    `probabilities` is `[2, tokens, tgt_vocab]`, `log_ratio` is log(p1 / p2). The gradient of
    KL(p1 || p2) is p1 (log(p1 / p2) - KL) by the first logits and p2 - p1 by the second.
    """
    log_ratios = torch.stack([log_ratio, -log_ratio])
    divergences = (probabilities * log_ratios).sum(dim=2, keepdim=True)
    gradient = probabilities * (log_ratios - divergences) + probabilities - probabilities.flip(0)
    return divergences.sum(), gradient
