"""What a translator gives for a text."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the translations that were found for a text."""

    text: str
    log_prob: float  # nats, of all its tokens
    score: float  # what the search ranks by
    finished: bool  # False: cut at the limit


@dataclass(frozen=True, slots=True)
class Result:
    """The translation of a text, and how it came about."""

    source: str  # as it was given
    text: str
    log_prob: float  # nats, of all tokens
    score: float  # what the search ranks by; sum over the parts
    finished: bool  # False: cut at the limit
    parts: int  # that the text was translated in; 0: it is empty
    tokens: list[str]  # as `Tokenizer.tokens` writes them, one part after another
    n_best: list[Alternative]  # the chosen one first
    unmet: list[str]  # terms that were asked for and are not there
    src_tokens: list[str]  # likewise, of the repaired source
    alignment: list[int] | None  # for each token its place in `src_tokens`; None: not asked
    # Nats, of each token, and of EOS where a part is finished; None: not asked.
    token_log_probs: list[float] | None
    warnings: list[str]  # what a reader should know, one line each


@dataclass(frozen=True, slots=True)
class Attention:
    """Where a model looked in the source while it wrote each token of its translation."""

    weights: Tensor  # [layers, heads, tgt_len, src_len], each row sums to 1
    src_ids: list[int]  # [src_len], EOS last
    # [tgt_len], EOS last unless it was cut; row i belongs to the writing of token i
    tgt_ids: list[int]
