"""The masks of one row of a batch as lists, for those who draw them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from hanyi.model.masks import causal_mask, padding_mask

MASKS = ("padding", "causal", "both")


def masks_of(tokens: Sequence[int]) -> dict[str, list[list[int]]]:
    """Give the masks of token ids, `[length, length]` each: 1 where a row may attend."""
    row = torch.tensor([list(tokens)])
    padding = padding_mask(row).expand(1, 1, len(tokens), len(tokens))
    causal = causal_mask(len(tokens), row.device)
    masks = zip(MASKS, (padding, causal, padding & causal), strict=True)
    return {name: mask[0, 0].int().tolist() for name, mask in masks}
