"""What a search finds, and the rules that both searches share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from hanyi.tokens.vocab import BOS, PAD

NEVER = [PAD, BOS]
"""Tokens that no target goes on with, whatever the model thinks of them."""


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
    log_probs[:, NEVER] = float("-inf")
    return log_probs
