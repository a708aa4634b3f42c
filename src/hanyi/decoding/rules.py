"""What may not be written next: the bounds of each sentence, its prefix, repeated n-grams.

A rule takes tokens away and never makes an exception; a hypothesis that no token is left for is cut
there. The prefix comes before all other rules, which hold for what follows it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hanyi.decoding.sentences import Sentence
from hanyi.tokens.vocab import EOS

NEVER = float("-inf")
FREE = -1  # where a prefix says nothing


class Rules:
    """The rules of one batch of sentences."""

    def __init__(
        self, sentences: Sequence[Sentence], no_repeat_ngram: int, device: torch.device
    ) -> None:
        self.ngram = no_repeat_ngram
        self.most_least = max(sentence.least for sentence in sentences)
        self.least = torch.tensor([sentence.least for sentence in sentences], device=device)
        prefixes = [sentence.wish.prefix for sentence in sentences]
        longest = max(map(len, prefixes))
        padded = [[*prefix] + [FREE] * (longest - len(prefix)) for prefix in prefixes]
        self.prefixes = torch.tensor(padded, dtype=torch.int64, device=device)  # [batch, longest]

    @property
    def idle(self) -> bool:
        """Say whether there is no rule at all."""
        return not (self.ngram or self.most_least or self.prefixes.size(1))

    def rule_out(self, log_probs: Tensor, written: Tensor, owners: Tensor) -> None:
        """Set what may not follow to -inf in `[rows, tgt_vocab]`, in place.

        `written [rows, length]` are the tokens so far, BOS not counted; `owners [rows]` is the
        sentence of each row, by its place in the batch that the rules were made for.
        """
        length = written.size(1)
        forced = None
        if length < self.prefixes.size(1):
            forced = self.prefixes[owners, length][:, None]  # [rows, 1]
            kept = log_probs.gather(1, forced.clamp(min=0))
        if length < self.most_least:
            log_probs[:, EOS].masked_fill_(self.least[owners] > length, NEVER)
        if self.ngram:
            _rule_out_repeats(log_probs, written, self.ngram)
        if forced is not None:
            log_probs.masked_fill_(forced != FREE, NEVER)
            rows = (forced[:, 0] != FREE).nonzero()
            log_probs[rows, forced[rows, 0]] = kept[rows, 0]


def _rule_out_repeats(log_probs: Tensor, written: Tensor, ngram: int) -> None:
    """Rule out each token that would end a run of `ngram` tokens that was written before."""
    length = written.size(1)
    if length < ngram:
        return
    runs = written.unfold(1, ngram, 1)  # [rows, length - ngram + 1, ngram]
    newest = written[:, length - ngram + 1 :]  # [rows, ngram - 1]
    rows, places = (runs[:, :, :-1] == newest[:, None]).all(dim=-1).nonzero(as_tuple=True)
    log_probs[rows, runs[rows, places, -1]] = NEVER
