"""Encoding a prepared split into shards, with a count of what was dropped or cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hanyi.ahead import ahead
from hanyi.params import at_least, config, one_of
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.flat import Flat
from hanyi.tokens.identity import check_ids
from hanyi.tokens.prepared import read_blocks
from hanyi.tokens.shards import encoded_rows, write_shards

OVER_LONG = ("drop", "truncate")

WORKERS = 2
"""Threads: the tokenizer uses all cores, but what Python does before and after uses one."""


@config
class EncodeConfig:
    """The `encode` section: lengths in tokens, without special ones."""

    max_tokens: int
    over_long: str
    shard_rows: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        one_of("over_long", self.over_long, OVER_LONG)
        at_least("max_tokens", self.max_tokens, 1)
        most = np.iinfo(np.int32).max // self.max_tokens
        if not 1 <= self.shard_rows <= most:
            raise ValueError(f"shard_rows must be 1 to {most} (2^31 tokens), got {self.shard_rows}")


@dataclass(frozen=True)
class Pair:
    """The tokenizers of both sides."""

    src: Tokenizer
    tgt: Tokenizer


def encode_split(
    prepared: Path,
    directory: Path,
    tokenizers: Pair,
    weights: Mapping[str, float],
    config: EncodeConfig,
) -> dict[str, Any]:
    """Encode a prepared split into an existing, empty directory, and give the index.

    `weights` names the corpora, in the order of their numbers, and says how often the rows of each
    occur in an epoch. Raises `DataError` when an id occurs twice.
    """
    check_ids(prepared)
    counts: Counter[str] = Counter()
    encoder = _Encoder(tokenizers, pa.array(weights, pa.string()), config)
    index: dict[str, Any] = {
        "corpora": list(weights),
        "weights": dict(weights),
        "max_tokens": config.max_tokens,
        "src_tokenizer": tokenizers.src.digest,
        "tgt_tokenizer": tokenizers.tgt.digest,
        "src_vocab": tokenizers.src.size,
        "tgt_vocab": tokenizers.tgt.size,
        "counts": {},
    }

    def encoded() -> Iterator[pa.RecordBatch]:
        blocks = read_blocks(prepared, ["id", "corpus", "src", "tgt"])
        for rows, found in ahead(encoder, blocks, threads=WORKERS, depth=2 * WORKERS):
            counts.update(found)
            yield rows
        index["counts"] |= {
            "read": counts["read"],
            "dropped": counts["dropped"],
            "truncated": {"src": counts["src"], "tgt": counts["tgt"]},
        }

    return write_shards(directory, encoded(), shard_rows=config.shard_rows, fields=index)


@dataclass(frozen=True)
class _Encoder:
    """Encodes a block of prepared rows; threads may share it."""

    tokenizers: Pair
    corpora: pa.Array
    config: EncodeConfig

    def __call__(self, block: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, int]]:
        """Give the encoded rows, and how many were read, dropped, and cut on either side."""
        most = self.config.max_tokens
        src = self.tokenizers.src.encode_flat(block.column("src").to_pylist())
        tgt = self.tokenizers.tgt.encode_flat(block.column("tgt").to_pylist())
        ids = block.column("id")
        corpus = pc.index_in(block.column("corpus"), self.corpora).cast(pa.uint8())
        counts = {"read": len(ids)}
        if self.config.over_long == "drop":
            kept = np.maximum(src.lengths, tgt.lengths) <= most
            counts["dropped"] = len(ids) - int(kept.sum())
            if counts["dropped"]:
                src, tgt = src.only(kept), tgt.only(kept)
                ids, corpus = ids.filter(pa.array(kept)), corpus.filter(pa.array(kept))
        else:
            src, counts["src"] = _cut(src, most)
            tgt, counts["tgt"] = _cut(tgt, most)
        return encoded_rows(ids, corpus, src, tgt), counts


def _cut(rows: Flat, most: int) -> tuple[Flat, int]:
    long = int((rows.lengths > most).sum())
    return (rows.cut(most) if long else rows), long
