"""When two sentences, or two pairs, count as the same: 128-bit keys of whole columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray
from pyarrow import compute

from hanyi.corpus.cleaning.characters import CODE_POINTS, Table

Keys = NDArray[np.uint64]
"""Keys of rows, uint64 [rows, 2]: the upper and the lower half of 128 bits."""

BETWEEN = b"\xff"
"""Stands between source and target in what a pair's key is made of; UTF-8 never has this byte."""

_SLICE_ROWS = 2048
"""Rows folded at a time: more of them would not stay in the processor's cache."""

_DROPPED, _EXPANDS = CODE_POINTS, CODE_POINTS + 1


def fold(text: str) -> str:
    """Reduce a sentence to what is compared: no case, width, punctuation or white space.

    A sentence of nothing but punctuation is compared as it is.
    """
    return text.translate(_FOLDED) or text


def fold_column(texts: pa.StringArray) -> pa.StringArray:
    """Fold every text of a column without nulls; equals `fold` row by row."""
    slices = [
        _fold_slice(texts.slice(first, _SLICE_ROWS)) for first in range(0, len(texts), _SLICE_ROWS)
    ]
    return pa.concat_arrays(slices) if slices else texts


def _fold_slice(texts: pa.StringArray) -> pa.StringArray:
    text, offsets = bytes_of(texts)
    joined = bytes(text)
    codes = code_points(joined)
    folded = _TABLE[codes]
    starts = _characters_before(joined, offsets, len(codes))
    kept = folded < CODE_POINTS
    before = _kept_before(kept, starts)
    output = np.compress(kept, folded).tobytes().decode("utf-32-le").encode("utf-8")
    column = pa.StringArray.from_buffers(
        len(texts), pa.py_buffer(_bytes_before(output, before)), pa.py_buffer(output)
    )
    # Rows that a map of single characters cannot do: those that come out empty, and those in which
    # one character becomes several.
    odd = before[1:] == before[:-1]
    odd[np.searchsorted(starts, np.flatnonzero(folded == _EXPANDS), side="right") - 1] = True
    if odd.any():
        mask = pa.array(odd)
        by_hand = pa.array([fold(text) for text in texts.filter(mask).to_pylist()], pa.string())
        column = compute.replace_with_mask(column, mask, by_hand)
    return column


def bytes_of(texts: pa.StringArray) -> tuple[memoryview, NDArray[np.int64]]:
    """Give the UTF-8 bytes of a column, one text after the other, and where each begins.

    The offsets, int64 [rows + 1], end with the number of all bytes.
    """
    _, offset_buffer, text = texts.buffers()
    if not len(texts):
        return memoryview(b""), np.zeros(1, np.int64)
    offsets = np.frombuffer(offset_buffer, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    first, last = offsets[0], offsets[-1]
    return memoryview(text or b"")[first:last], offsets.astype(np.int64) - first


def code_points(joined: bytes) -> NDArray[np.uint32]:
    """Give the code points of UTF-8 text, `[chars]`."""
    return np.frombuffer(joined.decode("utf-8").encode("utf-32-le"), np.uint32)


def folded_keys(folded: pa.StringArray) -> Keys:
    """Give the keys of sentences that are folded already: xxh3-128 of their UTF-8 bytes."""
    return _keys(folded.cast(pa.binary()).to_pylist())


def sentence_keys(texts: pa.StringArray) -> Keys:
    """Give the keys of sentences, equal for sentences that count as the same (`fold`)."""
    return folded_keys(fold_column(texts))


def pair_keys(src: pa.StringArray, tgt: pa.StringArray) -> Keys:
    """Give the keys of pairs, equal for pairs whose two texts are the same to the byte."""
    binary = pa.binary()
    joined = compute.binary_join_element_wise(src.cast(binary), tgt.cast(binary), BETWEEN)
    return _keys(joined.to_pylist())


def _keys(values: Iterable[bytes]) -> Keys:
    digests = b"".join(map(xxhash.xxh3_128_digest, values))
    return np.frombuffer(digests, ">u8").reshape(-1, 2).astype(np.uint64)


class _Folded(dict[int, str | None]):
    """Translation table of characters to what is compared of them, filled as they are met."""

    def __missing__(self, code: int) -> str | None:
        plain = unicodedata.normalize("NFKC", chr(code)).casefold()
        kept = "".join(char for char in plain if unicodedata.category(char)[0] not in "PZC")
        self[code] = kept or None
        return self[code]


_FOLDED = _Folded()


def _folded_code(char: str) -> int:
    """Give what one character is folded to, as a code point, or one of two marks."""
    kept = _FOLDED[ord(char)]
    if kept is None:
        return _DROPPED
    return ord(kept) if len(kept) == 1 else _EXPANDS


_TABLE = Table(_folded_code, np.uint32)


def _characters_before(
    joined: bytes, offsets: NDArray[np.int64], characters: int
) -> NDArray[np.int64]:
    """Turn offsets in bytes into offsets in characters."""
    if characters == len(joined):
        return offsets
    return np.searchsorted(_first_bytes(joined), offsets)


def _bytes_before(joined: bytes, starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Turn offsets in characters into offsets in bytes."""
    places = np.append(_first_bytes(joined), len(joined))
    return places[starts].astype(np.int32)


def _first_bytes(joined: bytes) -> NDArray[np.int64]:
    """Give the place of the first byte of every character of UTF-8."""
    return np.flatnonzero(np.frombuffer(joined, np.int8) >= -64)


def _kept_before(kept: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the kept characters before each start."""
    places = np.flatnonzero(kept)
    return np.searchsorted(places, starts)
