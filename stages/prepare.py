"""Turn the raw tables into clean, split, leak-free ones in `data/prepared/`."""

from __future__ import annotations

import logging
from typing import Any

from hanyi.artifacts import atomic_directory
from hanyi.corpus.cleaning.config import PrepareConfig
from hanyi.corpus.pipeline import REJECTED_FILE, prepare
from hanyi.corpus.report import FILES, write_report
from hanyi.corpus.workers import worker_count
from hanyi.languages import Languages
from hanyi.params import load_section
from hanyi.tracking import Tracker
from stages.harness import run
from stages.paths import FUNNEL, PREPARED, RAW

log = logging.getLogger("hanyi.corpus")

FOLDER = "prepare"  # of the run's artifacts
LARGEST_ARTIFACT = 50_000_000  # bytes of rejected rows that are copied into MLflow, at most


def main(tracker: Tracker) -> dict[str, Any]:
    """Prepare every corpus of `data/raw/`; give the counts of rows."""
    config = load_section("prepare", PrepareConfig)
    languages = load_section("languages", Languages)
    funnel = prepare(RAW, PREPARED, config, languages, worker_count())
    metrics = funnel.metrics()
    with atomic_directory(FUNNEL) as directory:
        write_report(directory, funnel)
    table = funnel.table()
    for line in table:
        log.info("%s", line)
    for reason in funnel.heavy():
        log.warning("%s: look at %s", reason, FUNNEL / "samples.md")
    _mirror(tracker, table)
    return metrics


def _mirror(tracker: Tracker, table: list[str]) -> None:
    tracker.text("\n".join(table) + "\n", f"{FOLDER}/funnel.txt")
    for name in FILES:
        tracker.artifact(FUNNEL / name, FOLDER)
    rejected = PREPARED / REJECTED_FILE
    size = rejected.stat().st_size
    if size <= LARGEST_ARTIFACT:
        tracker.artifact(rejected, FOLDER)
    else:
        log.info("%s of %.0f MB is not copied into MLflow", rejected, size / 1e6)


if __name__ == "__main__":
    run("prepare", main)
