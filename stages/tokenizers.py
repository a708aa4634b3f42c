"""Train byte-level BPE on the train split only: a tokenizer for each language, or one for both."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from hanyi.artifacts import atomic_directory
from hanyi.errors import ParamsError
from hanyi.params import load_section
from hanyi.tokens.bpe import Tokenizer, train_tokenizer
from hanyi.tokens.config import TokenizersConfig
from hanyi.tokens.fertility import measure
from hanyi.tokens.prepared import SPLITS, read_sample
from hanyi.tracking import Tracker
from stages.harness import run
from stages.paths import PREPARED, TOKENIZERS

log = logging.getLogger("hanyi.tokenizers")

SIDES = ("src", "tgt")
WHERE = "params.yaml: tokenizers"


def main(_: Tracker) -> dict[str, Any]:
    """Train (or take those of a model), measure on each split, publish both tokenizers together."""
    settings = load_section("tokenizers", TokenizersConfig)
    splits = [PREPARED / f"{split}.parquet" for split in SPLITS]
    metrics: dict[str, Any] = {}
    with atomic_directory(TOKENIZERS) as directory:
        if settings.use is None:
            tokenizers = _trained(settings, splits[0])
        else:
            tokenizers = _taken(Path(settings.use), joint=settings.joint)
        for side, tokenizer in tokenizers.items():
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


def _trained(settings: TokenizersConfig, train: Path) -> dict[str, Tokenizer]:
    """Train on a sample of each side: a tokenizer for each (Sennrich et al. 2016), or one for both.

    Subwords of one vocabulary mean the same on either side, so that embeddings can be shared.
    """

    def texts(side: str) -> Iterator[list[str]]:
        for block in read_sample(train, [side], settings.sample_chars):
            yield block.column(0).to_pylist()

    if settings.joint:
        both = chain.from_iterable(texts(side) for side in SIDES)
        one = train_tokenizer(both, settings.bpe("src"), f"{WHERE}.src_vocab")
        return dict.fromkeys(SIDES, one)
    return {
        side: train_tokenizer(texts(side), settings.bpe(side), f"{WHERE}.{side}_vocab")
        for side in SIDES
    }


def _taken(folder: Path, *, joint: bool) -> dict[str, Tokenizer]:
    """Read the tokenizers of a model that was trained before."""
    if folder.resolve() == TOKENIZERS.resolve():
        found = f"{folder}, this stage's own output, which is removed before it runs"
        raise ParamsError(f"{WHERE}.use", found, "another folder", "copy it and name the copy")
    remedy = "name in tokenizers.use the folder of a model's tokenizers, or set it to null"
    taken = {side: Tokenizer.load(folder / f"{side}.json", remedy) for side in SIDES}
    if joint and taken["src"].digest != taken["tgt"].digest:
        found = f"src.json and tgt.json of {folder} that differ"
        raise ParamsError(f"{WHERE}.joint", found, "one tokenizer twice", "set it to false")
    return taken


if __name__ == "__main__":
    run("tokenizers", main)
