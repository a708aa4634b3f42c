"""The corpus of the race: sentence pairs, encoded once by our tokenizers for all systems."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from hanyi.tokens.bpe import BpeConfig, Tokenizer, train_tokenizer
from hanyi.tokens.encoding import EncodeConfig, Pair, encode_split
from hanyi.tokens.shards import EncodedSplit
from stages.paths import ENCODED, PREPARED, TOKENIZERS

VALID = 500  # pairs
ENCODE = EncodeConfig(max_tokens=100, over_long="drop", shard_rows=1_000_000)


def build(
    folder: Path, source: Path | None, columns: tuple[int, int], pairs: int, vocab: int
) -> tuple[int, int]:
    """Write the corpus into an empty folder; give the sizes of both vocabularies.

    `folder/home` gets the files that our own stage `train` reads, `folder` the same sentences as
    lines of ids. Without `source` the pairs are those that the pipeline has prepared.
    """
    home = folder / "home"
    frame = _frame(source, columns)
    # In an order of its own, so that a part of the corpus is like the whole.
    frame = frame.iloc[np.random.default_rng(1).permutation(len(frame))[: pairs + VALID]]
    frame = frame.reset_index(drop=True)
    frame.insert(0, "id", range(len(frame)))
    frame.insert(1, "corpus", "race")
    tokenizers = Pair(_tokenizer(frame, "src", vocab), _tokenizer(frame, "tgt", vocab))
    tokenizers.src.save(home / TOKENIZERS / "src.json")
    tokenizers.tgt.save(home / TOKENIZERS / "tgt.json")
    for name, part in (("train", frame[VALID:]), ("valid", frame[:VALID])):
        file = home / PREPARED / f"{name}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        part.to_parquet(file, index=False)
        (home / ENCODED / name).mkdir(parents=True)
        encode_split(file, home / ENCODED / name, tokenizers, {"race": 1.0}, ENCODE)
        _write_lines(EncodedSplit.open(home / ENCODED / name), folder / name)
    return tokenizers.src.size, tokenizers.tgt.size


def _tokenizer(frame: pd.DataFrame, side: str, vocab: int) -> Tokenizer:
    config = BpeConfig(vocab=vocab, max_word_chars=16, max_digits=2)
    return train_tokenizer(frame[side].tolist(), config, f"the corpus of the race, {side}")


def _write_lines(split: EncodedSplit, stem: Path) -> None:
    for side, row in (("src", split.src), ("tgt", split.tgt)):
        lines = (" ".join(map(str, row(number).tolist())) + "\n" for number in range(split.rows))
        stem.with_suffix(f".{side}").write_text("".join(lines), encoding="utf-8")


def _frame(source: Path | None, columns: tuple[int, int]) -> pd.DataFrame:
    if source is None:
        return pd.read_parquet(PREPARED / "train.parquet", columns=["src", "tgt"])
    return pd.DataFrame(_pairs(source, columns), columns=["src", "tgt"])


def _pairs(source: Path, columns: tuple[int, int]) -> Iterator[tuple[str, str]]:
    """Give the pairs of all TSV files of a folder, or of one `*.src` and one `*.tgt`."""
    for file in sorted([*source.glob("*.tsv"), *source.glob("*.tsv.gz")]):
        for line in _lines(file):
            cells = line.split("\t")
            if len(cells) > max(columns) and all(cells[column].strip() for column in columns):
                yield cells[columns[0]], cells[columns[1]]
    for file in sorted(source.glob("*.src")):
        for src, tgt in zip(_lines(file), _lines(file.with_suffix(".tgt")), strict=True):
            if src.strip() and tgt.strip():
                yield src, tgt


def _lines(file: Path) -> list[str]:
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return data.decode("utf-8").split("\n")
