"""Turn the raw files into clean, split, leak-free tables in `data/prepared/`."""

from __future__ import annotations

import logging
from typing import Any

from hanyi.corpus.cleaning import PrepareConfig
from hanyi.corpus.pipeline import REJECTED_FILE, prepare
from hanyi.params import load_section
from hanyi.tracking import Tracker
from stages.harness import run
from stages.paths import PREPARED, RAW

log = logging.getLogger("hanyi.corpus")


def main(tracker: Tracker) -> dict[str, Any]:
    """Prepare every corpus of `data/raw/`; give the counts of rows."""
    funnel = prepare(RAW, PREPARED, load_section("prepare", PrepareConfig))
    table = funnel.table()
    for line in table:
        log.info("%s", line)
    for reason in funnel.heavy():
        log.warning("%s: look at %s", reason, PREPARED / REJECTED_FILE)
    tracker.text("\n".join(table) + "\n", "prepare/funnel.txt")
    return funnel.metrics()


if __name__ == "__main__":
    run("prepare", main)
