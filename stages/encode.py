"""Encode what is trained and validated on into memory-mapped shards of token ids."""

from __future__ import annotations

import logging
from typing import Any

from hanyi.artifacts import atomic_directory
from hanyi.errors import ArtifactError
from hanyi.params import load_section
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.encoding import EncodeConfig, Pair, encode_split
from hanyi.tokens.prepared import corpus_names
from hanyi.tokens.weights import read_weights
from hanyi.tracking import Tracker
from stages.harness import run
from stages.paths import ENCODED, PREPARED, TOKENIZERS

log = logging.getLogger("hanyi.encode")

SPLITS = ("train", "valid")  # `decode` reads the text of test, where no row is too long


def main(_: Tracker) -> dict[str, Any]:
    """Encode and publish the splits together."""
    settings = load_section("encode", EncodeConfig)
    pair = Pair(Tokenizer.load(TOKENIZERS / "src.json"), Tokenizer.load(TOKENIZERS / "tgt.json"))
    files = {split: PREPARED / f"{split}.parquet" for split in SPLITS}
    weights = read_weights(PREPARED, corpus_names(files.values()))
    metrics: dict[str, Any] = {}
    with atomic_directory(ENCODED) as directory:
        for split, file in files.items():
            (directory / split).mkdir()
            index = encode_split(file, directory / split, pair, weights, settings)
            metrics[split] = {key: index[key] for key in ("rows", "src_tokens", "tgt_tokens")}
            metrics[split] |= {"shards": len(index["files"]), **index["counts"]}
            log.info("%s: %d rows of %d", split, index["rows"], index["counts"]["read"])
            if not index["rows"]:
                raise ArtifactError(
                    file,
                    f"{index['counts']['read']} rows, none within encode.max_tokens",
                    f"{split} rows of at most {settings.max_tokens} tokens a side",
                    "raise encode.max_tokens or give more text",
                )
    return metrics


if __name__ == "__main__":
    run("encode", main)
