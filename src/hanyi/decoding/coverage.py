"""What hypotheses have read of their source, and what it costs to leave some of it unread."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hanyi.decoding.sentences import Sentence


class Coverage:
    """The attention that each source token was given, summed over the steps."""

    def __init__(self, sentences: Sequence[Sentence], weight: float, device: torch.device) -> None:
        self.weight = weight
        self.src_lens = torch.tensor([sentence.src_len for sentence in sentences], device=device)
        self.sums = torch.zeros(1, 1, device=device)  # [rows, src_len] after the first step

    def add(self, attention: Tensor) -> None:
        """Take in what a step read, `[rows, src_len]`."""
        self.sums = self.sums + attention.float()

    def select(self, index: Tensor) -> None:
        """Make row `index[i]` the new row i."""
        self.sums = self.sums[index]

    def penalties(self, rows: Tensor, owners: Tensor) -> Tensor:
        """Give β Σᵢ log(min(Σⱼ pᵢⱼ, 1)), 0 or less, for some rows (Wu et al. 2016, 7, eq. 14).

        `owners` are their sentences. The source's EOS counts as a token of it, and so does the step
        that writes EOS; padding does not. A token that was never read costs 87β, not infinity.
        """
        read = self.sums[rows].clamp(torch.finfo(torch.float32).tiny, 1.0)
        positions = torch.arange(read.size(1), device=read.device)
        padding = positions >= self.src_lens[owners][:, None]
        return self.weight * read.log().masked_fill(padding, 0.0).sum(dim=1)
