"""What the decoder keeps between steps, so that a step costs one position instead of all.

The hypotheses of a sentence form a tree: they begin alike and part later. The key and the value of
a node, a token of a beam, stay where they were first put, and a bias says which nodes lie on the
path of which beam. So a new order of the beams moves no keys, and the beams of a sentence attend in
one product.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from hanyi.model.masks import MASKED

# Steps by which the room for keys and values grows; joining a copy of one more each time costs
# more.
GROWTH = 16


@dataclass(slots=True)
class LayerCache:
    """Keys and values of one decoder layer."""

    cross_keys: Tensor  # [batch, groups, src_len, d_head]
    cross_values: Tensor  # [batch, groups, src_len, d_head]
    keys: Tensor  # [batch, groups, room, d_head], the first `nodes` of them in use
    values: Tensor  # [batch, groups, room, d_head]
    nodes: int = 0

    @classmethod
    def begin(cls, cross_keys: Tensor, cross_values: Tensor, beams: int) -> LayerCache:
        """Keep the memory's keys and values, each `[batch, groups, src_len, d_head]`."""
        batch, groups, _, d_head = cross_keys.shape
        room = cross_keys.new_empty(batch, groups, GROWTH * beams, d_head)
        return cls(cross_keys.contiguous(), cross_values.contiguous(), room, torch.empty_like(room))

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add a node for each beam, `[batch, groups, beams, d_head]`, and give all of them."""
        beams = key.size(2)
        if self.nodes == self.keys.size(2):
            self.keys = F.pad(self.keys, (0, 0, 0, GROWTH * beams))
            self.values = F.pad(self.values, (0, 0, 0, GROWTH * beams))
        self.keys[:, :, self.nodes : self.nodes + beams] = key
        self.values[:, :, self.nodes : self.nodes + beams] = value
        self.nodes += beams
        return self.keys[:, :, : self.nodes], self.values[:, :, : self.nodes]

    def select(self, sentences: Tensor) -> None:
        """Make sentence `sentences[i]` the new sentence i."""
        self.cross_keys = self.cross_keys.index_select(0, sentences)
        self.cross_values = self.cross_values.index_select(0, sentences)
        self.keys = self.keys.index_select(0, sentences)
        self.values = self.values.index_select(0, sentences)


@dataclass(slots=True)
class Cache:
    """The decoder's state for `batch` sentences, each with `beams` rows side by side."""

    layers: list[LayerCache]
    padding: Tensor  # [batch, 1, 1, src_len], bias of cross-attention
    paths: Tensor  # [batch, 1, beams, nodes], bias of self-attention: 0 on the path of a beam
    length: int = 0  # tokens seen so far
    attention: Tensor | None = None  # [batch * beams, src_len], of the newest step, if asked for

    @property
    def beams(self) -> int:
        """Give the rows of each sentence."""
        return self.paths.size(2)

    def extend(self) -> Tensor | None:
        """Put a new node on the path of each beam; give the bias, None where nothing is hidden."""
        if self.beams == 1:
            return None
        new = self.paths.new_full((self.beams, self.beams), MASKED).fill_diagonal_(0.0)
        self.paths = torch.cat((self.paths, new.expand(len(self.paths), 1, -1, -1)), dim=3)
        return self.paths

    def select(self, index: Tensor) -> None:
        """Make row `index[i]` the new row i: `[new_batch * beams]`, to reorder or to drop rows.

        With several beams, the rows of a sentence must stay together and come from that sentence.
        """
        sentences = index[:: self.beams] // self.beams
        if not _is_identity(sentences, len(self.padding)):
            self.padding = self.padding.index_select(0, sentences)
            for layer in self.layers:
                layer.select(sentences)
        paths = self.paths.flatten(0, 2).index_select(0, index)
        self.paths = paths.view(len(sentences), 1, self.beams, paths.size(1))


def _is_identity(index: Tensor, size: int) -> bool:
    return len(index) == size and torch.equal(index, torch.arange(size, device=index.device))
