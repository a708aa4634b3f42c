"""Measure the token stages: encoding beside the tokenizers library alone, plans, padding, batches.

Run in the project's root after `dvc repro encode`: `.venv/bin/python -m benchmarks.tokens`.
Encoding is compared on the same texts and cores; what Hanyi adds is reading Parquet, the length
limits and writing shards with their digests.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import tokenizers

from hanyi.tokens.batches import collate, padding, plan
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.encoding import EncodeConfig, Pair, encode_split
from hanyi.tokens.prepared import corpus_names, read_sample
from hanyi.tokens.shards import EncodedSplit

ALL = 10**15

Result = TypeVar("Result")


def timed(work: Callable[[], Result], repeat: int = 3) -> tuple[float, Result]:
    """Give the shortest time of a piece of work in seconds, and its result."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - begin)
    return min(times), result


def encoding(prepared: Path, models: Path) -> EncodedSplit:
    """Time the library's own batch encoding and the whole of ours, and give our split."""
    paths = {side: models / f"{side}.json" for side in ("src", "tgt")}
    texts = {side: list(read_sample(prepared, side, ALL)) for side in paths}
    plain = {side: tokenizers.Tokenizer.from_file(str(path)) for side, path in paths.items()}
    pair = Pair(Tokenizer.load(paths["src"]), Tokenizer.load(paths["tgt"]))
    rows = len(texts["src"])

    def library(method: str) -> Callable[[], None]:
        def encode() -> None:
            for side, tokenizer in plain.items():
                getattr(tokenizer, method)(texts[side])

        return encode

    for method in ("encode_batch", "encode_batch_fast"):
        seconds, _ = timed(library(method))
        print(f"tokenizers {method:18} {seconds:8.2f} s  {rows / seconds:10.0f} pairs/s")

    def ours() -> EncodedSplit:
        settings = EncodeConfig(max_tokens=1000, over_long="truncate", shard_rows=1_000_000)
        with tempfile.TemporaryDirectory() as folder:
            names = corpus_names([prepared])
            encode_split(prepared, Path(folder), pair, names, settings, keep_all=True)
            return EncodedSplit.open(Path(folder))

    seconds, split = timed(ours)
    print(f"hanyi, Parquet to shards      {seconds:8.2f} s  {rows / seconds:10.0f} pairs/s")
    return split


def batching(split: EncodedSplit, tokens: int) -> None:
    """Time a plan and its batches, and tell the share of PAD beside simpler orders."""
    src, tgt = split.src_lengths, split.tgt_lengths
    seconds, batches = timed(lambda: plan(src, tgt, tokens=tokens, seed=1, epoch=0))
    some = batches[:200]
    collating, _ = timed(lambda: [collate(split, rows) for rows in some])
    one_side = np.array_split(np.lexsort((np.arange(len(src)), src)), len(batches))
    mixed = np.array_split(np.random.default_rng(1).permutation(len(src)), len(batches))
    shares = {
        "both sides": padding(batches, src, tgt),
        "one side": padding(one_side, src, tgt),
        "random": padding(mixed, src, tgt),
    }
    told = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
    print(
        f"{tokens:6} tokens: {len(batches):6} batches planned in {seconds:.3f} s, "
        f"collated in {collating / len(some) * 1e3:.2f} ms each; PAD: {told}"
    )


def main() -> None:
    """Measure what lies in the workspace."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--prepared", type=Path, default=Path("data/prepared/train.parquet"))
    ask.add_argument("--tokenizers", type=Path, default=Path("models/tokenizers"))
    asked = ask.parse_args()
    split = encoding(asked.prepared, asked.tokenizers)
    print(f"{split.rows} rows, {split.src_lengths.sum()} + {split.tgt_lengths.sum()} tokens")
    for tokens in (1500, 4000, 12000, 25000):
        batching(split, tokens)


if __name__ == "__main__":
    main()
