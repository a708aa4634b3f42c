"""What a search finds, and the rules that both searches share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from hanyi.tokens.vocab import BOS, PAD

NEVER = [PAD, BOS]
"""Tokens that no target goes on with, whatever the model thinks of them."""

GROUPS = 64  # of tokens, for a vocabulary of some thousands about its square root
WORTH_GROUPS = 4096  # tokens of a vocabulary; of fewer, one look at all is as fast


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation as token ids, without BOS and EOS."""

    tokens: list[int]
    log_prob: float  # nats; of the tokens, and of EOS when finished
    finished: bool  # False: cut before EOS came
    score: float  # log_prob by the norm of the length, EOS counted, and what coverage takes off


class Rows(Protocol):
    """State of the model that follows the rows of a search."""

    def select(self, index: Tensor) -> None:
        """Make row `index[i]` the new row i."""


class Attentive(Rows, Protocol):
    """State of a model that tells where it looked."""

    @property
    def attention(self) -> Tensor:
        """Give what the newest step read of each source token, `[rows, src_len]`."""


def next_log_probs(logits: Tensor) -> Tensor:
    """Turn logits `[rows, tgt_vocab]` into log probabilities in nats, with those of NEVER at -inf.

    Normalised before these are ruled out, so that sums are what forced decoding gives.
    """
    log_probs = logits.float().log_softmax(dim=-1)
    for token in NEVER:
        log_probs[:, token] = float("-inf")
    return log_probs


def best_tokens(log_probs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Give the `count` largest of `[rows, tgt_vocab]` and their tokens, `[rows, count]` each.

    As `topk` does. On a CPU that is slow beside a maximum, so a large vocabulary is parted into
    groups: the best tokens lie in the groups with the best maxima.
    """
    size = log_probs.size(1)
    if log_probs.device.type != "cpu" or size < WORTH_GROUPS or count > GROUPS // 4:
        found = log_probs.max(dim=1, keepdim=True) if count == 1 else log_probs.topk(count)
        return found[0], found[1]
    whole = size - size % GROUPS
    grouped = log_probs[:, :whole].view(
        len(log_probs), -1, GROUPS
    )  # token t is in group t % GROUPS
    groups = grouped.amax(dim=1).topk(count).indices  # [rows, count]
    chosen = grouped.gather(2, groups[:, None].expand(-1, grouped.size(1), -1)).flatten(1)
    values, places = torch.cat((chosen, log_probs[:, whole:]), dim=1).topk(count)
    inside = places // count * GROUPS + groups.gather(1, places % count)
    beyond = places - chosen.size(1) + whole
    return values, torch.where(places < chosen.size(1), inside, beyond)
