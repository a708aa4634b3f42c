"""Score the translations of the test split against its untouched references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hanyi.params import load_section
from hanyi.scoring.metrics import ScoreConfig, score_all
from hanyi.scoring.pairing import Pair, by_corpus, read_pairs
from hanyi.tracking import Tracker
from stages.harness import run
from stages.paths import DECODED, PREPARED


def main(tracker: Tracker) -> dict[str, Any]:
    """Give BLEU and chrF of all corpora together and of each alone."""
    config = load_section("score", ScoreConfig)
    pairs = read_pairs(DECODED / "test.jsonl", PREPARED / "test.parquet")
    parts = {name: _scores(part, config) for name, part in by_corpus(pairs).items()}
    tracker.artifact(DECODED / "test.jsonl", "decoded")
    return {**_scores(pairs, config), "corpora": parts}


def _scores(pairs: Sequence[Pair], config: ScoreConfig) -> dict[str, Any]:
    hypotheses = [pair.hypothesis for pair in pairs]
    references = [pair.reference for pair in pairs]
    scores = score_all(hypotheses, references, config)
    return {"rows": len(pairs), **{name: score._asdict() for name, score in scores.items()}}


if __name__ == "__main__":
    run("score", main)
