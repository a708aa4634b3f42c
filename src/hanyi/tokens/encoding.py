"""Encoding a prepared split into shards, with a count of what was dropped or cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hanyi.params import at_least, config, one_of
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.prepared import read_blocks
from hanyi.tokens.shards import encoded_rows, write_shards

OVER_LONG = ("drop", "truncate")


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
    corpora: Sequence[str],
    config: EncodeConfig,
    *,
    keep_all: bool,
) -> dict[str, Any]:
    """Encode one Parquet file into an existing, empty directory, and give the index.

    `keep_all` is for the test split, where every row is decoded: a long source is cut whatever
    `config.over_long` says, and the target stays whole, because nothing reads it.
    """
    counts: dict[str, Any] = {"read": 0, "dropped": 0, "truncated": {"src": 0, "tgt": 0}}
    fields = {
        "corpora": list(corpora),
        "max_tokens": config.max_tokens,
        "src_tokenizer": tokenizers.src.digest,
        "tgt_tokenizer": tokenizers.tgt.digest,
        "src_vocab": tokenizers.src.size,
        "tgt_vocab": tokenizers.tgt.size,
        "counts": counts,
    }
    blocks = _encoded(prepared, tokenizers, corpora, config, keep_all=keep_all, counts=counts)
    return write_shards(directory, blocks, shard_rows=config.shard_rows, fields=fields)


def _encoded(
    prepared: Path,
    tokenizers: Pair,
    corpora: Sequence[str],
    config: EncodeConfig,
    *,
    keep_all: bool,
    counts: dict[str, Any],
) -> Iterator[pa.RecordBatch]:
    number = {name: at for at, name in enumerate(corpora)}
    drop = config.over_long == "drop" and not keep_all
    for block in read_blocks(prepared, ["id", "corpus", "src", "tgt"]):
        ids, corpus, src_texts, tgt_texts = (column.to_pylist() for column in block.columns)
        src = tokenizers.src.encode_batch(src_texts)
        tgt = tokenizers.tgt.encode_batch(tgt_texts)
        counts["read"] += len(ids)
        kept = list(range(len(ids)))
        if drop:
            kept = [at for at in kept if max(len(src[at]), len(tgt[at])) <= config.max_tokens]
            counts["dropped"] += len(ids) - len(kept)
        else:
            counts["truncated"]["src"] += _cut(src, config.max_tokens)
            if not keep_all:
                counts["truncated"]["tgt"] += _cut(tgt, config.max_tokens)
        yield encoded_rows(
            [ids[at] for at in kept],
            [number[corpus[at]] for at in kept],
            [src[at] for at in kept],
            [tgt[at] for at in kept],
        )


def _cut(sequences: list[list[int]], most: int) -> int:
    """Cut the sequences that are longer than `most`, in place, and count them."""
    long = [ids for ids in sequences if len(ids) > most]
    for ids in long:
        del ids[most:]
    return len(long)
