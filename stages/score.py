"""Score the translations of the test split against its untouched references."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from hanyi.analysis.report import FILES, counts, write_report
from hanyi.analysis.sentences import describe
from hanyi.artifacts import atomic_directory
from hanyi.languages import Languages
from hanyi.metrics.statistics import Statistics
from hanyi.params import load_section
from hanyi.scoring.config import ScoreConfig
from hanyi.scoring.evaluation import evaluate
from hanyi.scoring.pairing import Pair, places_by_corpus, read_pairs
from hanyi.scoring.significance import interval
from hanyi.scoring.tokenized import require_plain
from hanyi.tracking import Tracker
from stages.harness import run
from stages.paths import DECODED, PREPARED, REPORT

log = logging.getLogger("hanyi.score")

FOLDER = "score"  # of the run's artifacts


def main(tracker: Tracker) -> dict[str, Any]:
    """Give the metrics of all corpora together and of each alone."""
    config = load_section("score", ScoreConfig)
    languages = load_section("languages", Languages)
    pairs = read_pairs(DECODED / "test.jsonl", PREPARED / "test.parquet")
    if not config.tokenized_references:
        require_plain(pairs, languages.tgt, PREPARED / "test.parquet")
    measured = evaluate(pairs, config, languages.tgt)
    tracker.artifact(DECODED / "test.jsonl", "decoded")
    corpora = {
        name: _scores({metric: found.part(places) for metric, found in measured.items()})
        for name, places in places_by_corpus(pairs).items()
    }
    health = _report(tracker, pairs, measured, languages)
    return {**_scores(measured), "corpora": corpora, "health": health}


def _report(
    tracker: Tracker,
    pairs: Sequence[Pair],
    measured: Mapping[str, Statistics],
    languages: Languages,
) -> dict[str, int]:
    sentences = describe(pairs, measured, languages, PREPARED / "train.parquet")
    with atomic_directory(REPORT) as directory:
        write_report(directory, sentences)
    for name in FILES:
        tracker.artifact(REPORT / name, FOLDER)
    health = counts(sentences)
    found = ", ".join(f"{name} {count:,}" for name, count in health.items() if count)
    log.info("signs of trouble in %d rows: %s", len(pairs), found or "none")
    log.info("what the scores are made of: %s", REPORT / "report.html")
    return health


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
