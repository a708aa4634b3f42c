"""What the decoder keeps between steps, so that a step costs one position instead of all."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

# Positions by which the room for keys and values grows; joining a copy of one more each time costs
# more.
GROWTH = 16


@dataclass(slots=True)
class LayerCache:
    """Keys and values of one decoder layer."""

    cross_keys: Tensor  # [batch, groups, src_len, d_head]
    cross_values: Tensor  # [batch, groups, src_len, d_head]
    keys: Tensor  # [batch * beams, groups, room, d_head], the first `length` of them in use
    values: Tensor  # [batch * beams, groups, room, d_head]
    length: int = 0

    @classmethod
    def begin(cls, cross_keys: Tensor, cross_values: Tensor, beams: int) -> LayerCache:
        """Keep the memory's keys and values, each `[batch, groups, src_len, d_head]`."""
        batch, groups, _, d_head = cross_keys.shape
        room = cross_keys.new_empty(batch * beams, groups, GROWTH, d_head)
        return cls(cross_keys.contiguous(), cross_values.contiguous(), room, torch.empty_like(room))

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add the newest position, `[batch * beams, groups, 1, d_head]`, and give all of them."""
        if self.length == self.keys.size(2):
            self.keys = F.pad(self.keys, (0, 0, 0, GROWTH))
            self.values = F.pad(self.values, (0, 0, 0, GROWTH))
        self.keys[:, :, self.length : self.length + 1] = key
        self.values[:, :, self.length : self.length + 1] = value
        self.length += 1
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def reorder(self, index: Tensor) -> None:
        """Make row `index[i]` of keys and values the new row i."""
        self.keys = _reorder(self.keys, self.length, index)
        self.values = _reorder(self.values, self.length, index)


@dataclass(slots=True)
class Cache:
    """The decoder's state for `batch` sentences, each with `beams` rows side by side."""

    layers: list[LayerCache]
    padding: Tensor  # [batch, 1, 1, src_len], bias of cross-attention
    beams: int
    length: int = 0  # tokens seen so far
    attention: Tensor | None = None  # [batch * beams, src_len], of the newest step, if asked for

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
            layer.reorder(index)


def _reorder(room: Tensor, length: int, index: Tensor) -> Tensor:
    # Only what is in use is copied, and fresh memory is slow to touch, so the old room serves
    # again.
    moved = room[:, :, :length].index_select(0, index)
    rows = len(index)
    room = room[:rows] if rows <= len(room) else room.new_empty(rows, *room.shape[1:])
    room[:, :, :length] = moved
    return room


def _is_identity(index: Tensor, size: int) -> bool:
    return len(index) == size and torch.equal(index, torch.arange(size, device=index.device))
