"""What the decoder keeps between steps, so that a step costs one position instead of all."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(slots=True)
class LayerCache:
    """Keys and values of one decoder layer."""

    cross_keys: Tensor  # [batch, heads, src_len, d_head]
    cross_values: Tensor  # [batch, heads, src_len, d_head]
    keys: Tensor | None = None  # [batch * beams, heads, length, d_head]
    values: Tensor | None = None  # [batch * beams, heads, length, d_head]

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add the newest position, `[batch * beams, heads, 1, d_head]`, and give all of them."""
        if self.keys is None or self.values is None:
            self.keys, self.values = key, value
        else:
            self.keys = torch.cat((self.keys, key), dim=2)
            self.values = torch.cat((self.values, value), dim=2)
        return self.keys, self.values


@dataclass(slots=True)
class Cache:
    """The decoder's state for `batch` sentences with `beams` rows each, rows of a sentence side by side."""

    layers: list[LayerCache]
    padding: Tensor  # [batch, 1, 1, src_len], bias of cross-attention
    beams: int
    length: int = 0  # tokens seen so far

    def select(self, index: Tensor) -> None:
        """Make row `index[i]` the new row i: `[new_batch * beams]`, to reorder or to drop rows.

        With several beams, the rows of a sentence must stay together and come from that sentence.
        """
        sentences = index[:: self.beams] // self.beams
        moved = not _is_identity(sentences, len(self.padding))
        if moved:
            self.padding = self.padding.index_select(0, sentences)
        for layer in self.layers:
            if moved:
                layer.cross_keys = layer.cross_keys.index_select(0, sentences)
                layer.cross_values = layer.cross_values.index_select(0, sentences)
            if layer.keys is not None and layer.values is not None:
                layer.keys = layer.keys.index_select(0, index)
                layer.values = layer.values.index_select(0, index)


def _is_identity(index: Tensor, size: int) -> bool:
    return len(index) == size and torch.equal(index, torch.arange(size, device=index.device))
