"""Measure the token stages: training and encoding beside the tokenizers library alone, and batches.

`.venv/bin/python -m benchmarks.tokens` in the project's root after `dvc repro encode`, or anywhere
with paths of its own. Each measurement runs in a process of its own and tells its time, its
processor time and its peak memory. The library gets the same words and a list of all texts; what
Hanyi adds is reading Parquet, length limits and writing shards with their digests.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import tokenizers
from tokenizers import Regex, models, pre_tokenizers, trainers

from hanyi.tokens.batches import collate, padding, plan
from hanyi.tokens.bpe import FEWEST_PAIRS, BpeConfig, Tokenizer, train_tokenizer, word_pattern
from hanyi.tokens.encoding import EncodeConfig, Pair, encode_split
from hanyi.tokens.prepared import corpus_names, read_sample
from hanyi.tokens.shards import EncodedSplit
from hanyi.tokens.vocab import SPECIALS

SIDES = ("src", "tgt")
ALL = 10**15  # characters: no limit
SETTINGS = EncodeConfig(max_tokens=1000, over_long="truncate", shard_rows=1_000_000)


class Cost(NamedTuple):
    """What a piece of work took."""

    seconds: float
    processor: float  # seconds of all cores together
    peak: float  # MiB


def cost(work: Callable[..., Any], *arguments: Any) -> Cost:
    """Do a piece of work in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_cost, (work, arguments))


def _cost(work: Callable[..., Any], arguments: tuple[Any, ...]) -> Cost:
    begin, used = time.perf_counter(), time.process_time()
    seconds = work(*arguments) or time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Cost(seconds, time.process_time() - used, peak)


def tell(name: str, pairs: int, spent: Cost) -> None:
    """Print a line of the table."""
    rate = pairs / spent.seconds
    print(
        f"{name:32} {spent.seconds:7.1f} s {spent.processor:7.1f} processor s {rate:8.0f} pairs/s "
        f"{spent.peak:6.0f} MiB",
        flush=True,
    )


def texts(prepared: Path, side: str) -> list[str]:
    """Give all texts of a side as a list."""
    return pq.read_table(prepared, columns=[side])[side].to_pylist()


def train_directly(prepared: Path, settings: BpeConfig) -> None:
    """Train both tokenizers with nothing but the library."""
    for side in SIDES:
        bpe = tokenizers.Tokenizer(models.BPE())
        pattern = Regex(word_pattern(settings.max_word_chars, settings.max_digits))
        signs = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        cut = pre_tokenizers.Split(pattern, "isolated")
        bpe.pre_tokenizer = pre_tokenizers.Sequence([cut, signs])
        trainer = trainers.BpeTrainer(
            vocab_size=settings.vocab,
            min_frequency=FEWEST_PAIRS,
            special_tokens=list(SPECIALS),
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        bpe.train_from_iterator(texts(prepared, side), trainer)


def train_ours(prepared: Path, settings: BpeConfig, chars: int, models: Path | None) -> None:
    """Train both tokenizers as the stage does, on a sample of `chars` characters a side."""
    for side in SIDES:
        blocks = read_sample(prepared, [side], chars)
        trained = train_tokenizer((block.column(0).to_pylist() for block in blocks), settings)
        if models:
            trained.save(models / f"{side}.json")


def encode_directly(prepared: Path, models: Path, method: str) -> float:
    """Give the seconds of the library's batch encoding, reading not counted."""
    seconds = 0.0
    for side in SIDES:
        tokenizer = tokenizers.Tokenizer.from_file(str(models / f"{side}.json"))
        waiting = texts(prepared, side)
        begin = time.perf_counter()
        getattr(tokenizer, method)(waiting, add_special_tokens=False)
        seconds += time.perf_counter() - begin
    return seconds


def encode_ours(prepared: Path, models: Path, directory: Path) -> None:
    """Encode as the stage does, from Parquet to shards."""
    pair = Pair(*(Tokenizer.load(models / f"{side}.json") for side in SIDES))
    weights = dict.fromkeys(corpus_names([prepared]), 1.0)
    encode_split(prepared, directory, pair, weights, SETTINGS)


def training(prepared: Path, settings: BpeConfig, chars: int, models: Path | None) -> None:
    """Compare training."""
    pairs = pq.read_metadata(prepared).num_rows
    for number in (chars, ALL):
        told = "all" if number == ALL else f"{number:,} characters"
        spent = cost(train_ours, prepared, settings, number, models if number == ALL else None)
        tell(f"train: hanyi, {told}", pairs, spent)
    tell("train: tokenizers, all", pairs, cost(train_directly, prepared, settings))


def encoding(prepared: Path, models: Path, repeat: int = 3) -> None:
    """Compare encoding, in turn, so that both meet the same weather."""
    pairs = pq.read_metadata(prepared).num_rows
    for _ in range(repeat):
        for method in ("encode_batch", "encode_batch_fast"):
            spent = cost(encode_directly, prepared, models, method)
            tell(f"encode: tokenizers {method}", pairs, spent)
        with tempfile.TemporaryDirectory() as folder:
            tell("encode: hanyi", pairs, cost(encode_ours, prepared, models, Path(folder)))


def batching(split: EncodedSplit, tokens: int) -> None:
    """Time a plan and its batches, and tell the share of PAD beside simpler orders."""
    src, tgt = split.src_lengths, split.tgt_lengths
    begin = time.perf_counter()
    batches = plan(src, tgt, tokens=tokens, seed=1, epoch=0)
    planned = time.perf_counter()
    some = batches[:200]
    for rows in some:
        collate(split, rows)
    collated = time.perf_counter()
    one_side = np.array_split(np.lexsort((np.arange(len(src)), src)), len(batches))
    mixed = np.array_split(np.random.default_rng(1).permutation(len(src)), len(batches))
    orders = {"both sides": batches, "one side": one_side, "random": mixed}
    told = ", ".join(f"{name} {padding(order, src, tgt):.1%}" for name, order in orders.items())
    print(
        f"{tokens:6} tokens: {len(batches):6} batches planned in {planned - begin:.3f} s, "
        f"collated in {(collated - planned) / len(some) * 1e3:.2f} ms each; PAD: {told}"
    )


def main() -> None:
    """Measure what is asked for."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("parts", nargs="*", default=["encode", "batches"], help="train encode batches")
    ask.add_argument("--prepared", type=Path, default=Path("data/prepared/train.parquet"))
    ask.add_argument("--tokenizers", type=Path, default=Path("models/tokenizers"))
    ask.add_argument("--save", type=Path, help="folder for the tokenizers that `train` makes")
    ask.add_argument("--vocab", type=int, default=32_000)
    ask.add_argument("--sample-chars", type=int, default=10_000_000)
    asked = ask.parse_args()
    if "train" in asked.parts:
        settings = BpeConfig(vocab=asked.vocab, max_word_chars=16, max_digits=2)
        training(asked.prepared, settings, asked.sample_chars, asked.save)
    if "encode" in asked.parts:
        encoding(asked.prepared, asked.tokenizers)
    if "batches" in asked.parts:
        with tempfile.TemporaryDirectory() as folder:
            encode_ours(asked.prepared, asked.tokenizers, Path(folder))
            split = EncodedSplit.open(Path(folder))
            print(
                f"{split.rows} rows, {split.src_lengths.sum()} + {split.tgt_lengths.sum()} tokens"
            )
            for tokens in (1500, 4000, 12000, 25000):
                batching(split, tokens)


if __name__ == "__main__":
    main()
