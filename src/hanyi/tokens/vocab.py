"""The special tokens, the same in every vocabulary."""

from __future__ import annotations

PAD, UNK, BOS, EOS = 0, 1, 2, 3

SPECIALS = ("<pad>", "<unk>", "<bos>", "<eos>")
"""Special tokens by id: padding, unknown (never made by a byte-level encoder), begin, end."""

BYTES = 256
SMALLEST = len(SPECIALS) + BYTES
"""Fewest tokens of a vocabulary that can spell any text."""

LARGEST = 65_535
"""Most tokens of a vocabulary: ids are stored as `uint16`."""
