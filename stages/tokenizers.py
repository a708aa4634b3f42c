"""Train one byte-level BPE tokenizer for each language, on the train split only."""

from __future__ import annotations

import logging
from typing import Any

from hanyi.artifacts import atomic_directory
from hanyi.params import at_least, config, load_section
from hanyi.tokens.bpe import BpeConfig, check_digits, check_vocab, check_word_chars, train_tokenizer
from hanyi.tokens.fertility import measure
from hanyi.tokens.prepared import SPLITS, read_sample
from hanyi.tracking import Tracker
from stages.harness import run
from stages.paths import PREPARED, TOKENIZERS

log = logging.getLogger("hanyi.tokenizers")


@config
class TokenizersConfig:
    """The `tokenizers` section."""

    src_vocab: int
    tgt_vocab: int
    max_word_chars: int
    max_digits: int
    sample_chars: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_vocab("src_vocab", self.src_vocab)
        check_vocab("tgt_vocab", self.tgt_vocab)
        check_word_chars(self.max_word_chars)
        check_digits(self.max_digits)
        at_least("sample_chars", self.sample_chars, 1)

    def bpe(self, side: str) -> BpeConfig:
        """Give the settings of one side."""
        return BpeConfig(
            vocab=self.src_vocab if side == "src" else self.tgt_vocab,
            max_word_chars=self.max_word_chars,
            max_digits=self.max_digits,
        )


def main(_: Tracker) -> dict[str, Any]:
    """Train, measure on a sample of each split, publish both tokenizers together."""
    settings = load_section("tokenizers", TokenizersConfig)
    splits = [PREPARED / f"{split}.parquet" for split in SPLITS]
    metrics: dict[str, Any] = {}
    with atomic_directory(TOKENIZERS) as directory:
        for side in ("src", "tgt"):
            sample = read_sample(splits[0], [side], settings.sample_chars)
            texts = (block.column(0).to_pylist() for block in sample)
            where = f"params.yaml: tokenizers.{side}_vocab"
            tokenizer = train_tokenizer(texts, settings.bpe(side), where)
            tokenizer.save(directory / f"{side}.json")
            measured = measure(tokenizer, splits, side, settings.sample_chars)
            metrics[side] = {"vocab": tokenizer.size, **measured.metrics()}
            log.info(
                "%s: %d tokens in the vocabulary, %.3f for each character, %.3f for each word",
                side,
                tokenizer.size,
                metrics[side]["tokens_per_char"],
                metrics[side]["tokens_per_word"],
            )
    return metrics


if __name__ == "__main__":
    run("tokenizers", main)
