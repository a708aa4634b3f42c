"""Fetch a named corpus, or the user's own files, into `data/raw/`."""

from __future__ import annotations

from typing import Any

from hanyi.corpus.sources import FetchConfig, fetch_corpora
from hanyi.params import load_section
from hanyi.tracking import Tracker
from stages.harness import run
from stages.paths import RAW


def main(tracker: Tracker) -> dict[str, Any]:  # noqa: ARG001
    """Fetch the corpus that `fetch.corpus` names; give the rows of each file."""
    return fetch_corpora(load_section("fetch", FetchConfig), RAW)


if __name__ == "__main__":
    run("fetch", main)
