"""Score the translations of the test split against its untouched references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hanyi.languages import Languages
from hanyi.metrics.lexical import measure
from hanyi.metrics.statistics import Statistics
from hanyi.metrics.tokenizers import bleu_tokenizer
from hanyi.params import load_section
from hanyi.scoring.config import ScoreConfig
from hanyi.scoring.pairing import places_by_corpus, read_pairs
from hanyi.scoring.significance import interval
from hanyi.tracking import Tracker
from stages.harness import run
from stages.paths import DECODED, PREPARED


def main(tracker: Tracker) -> dict[str, Any]:
    """Give the metrics of all corpora together and of each alone."""
    config = load_section("score", ScoreConfig)
    languages = load_section("languages", Languages)
    pairs = read_pairs(DECODED / "test.jsonl", PREPARED / "test.parquet")
    measured = measure(
        [pair.hypothesis for pair in pairs],
        [pair.reference for pair in pairs],
        bleu_tokenizer(config.tokenize, languages.tgt),
    )
    tracker.artifact(DECODED / "test.jsonl", "decoded")
    corpora = {
        name: _scores({metric: found.part(places) for metric, found in measured.items()})
        for name, places in places_by_corpus(pairs).items()
    }
    return {**_scores(measured), "corpora": corpora}


def _scores(measured: Mapping[str, Statistics]) -> dict[str, Any]:
    rows = {len(found.counts) for found in measured.values()}
    return {
        "rows": rows.pop(),
        **{
            name: {
                "score": found.score(),
                "ci": interval(found),
                "signature": found.signature,
            }
            for name, found in measured.items()
        },
    }


if __name__ == "__main__":
    run("score", main)
