"""The starter corpora: made on the spot, so that a package index is all that the pipeline needs.

`everyday` comes from the grammar in `hanyi.starter`. `hsk` is the text of the package
hsk-sentences-audio (CC-BY-SA-4.0): graded sentences; `glosses` are the senses of its words.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from hanyi.corpus.pairs import SPLITS
from hanyi.corpus.sources.glosses import Glosses, collect
from hanyi.corpus.tables import Row
from hanyi.starter.everyday import EverydayConfig, generate

log = logging.getLogger("hanyi.corpus")

WAITING = re.compile(r"placeholder\b")
"""How the package marks a sentence that nobody has translated yet."""
UNTRANSLATED = "untranslated"


def make_everyday(everyday: EverydayConfig) -> dict[str, list[Row]]:
    """Generate the sentence pairs of each split."""
    pairs: dict[str, list[tuple[str, str]]] = {split: [] for split in SPLITS}
    for pair in generate(everyday):
        pairs[pair.split].append((pair.zh, pair.en))
    return {split: _rows(pairs[split]) for split in SPLITS}


def load_hsk() -> list[Row]:
    """Give the graded sentences with their translations; some of them still wait for theirs."""
    rows = _rows((record["chinese"], record["translation"]["en"]) for record in load_package())
    return [row._replace(fault=UNTRANSLATED) if WAITING.match(row.tgt) else row for row in rows]


def collect_glosses() -> tuple[list[Row], Glosses]:
    """Give the word glosses as rows, and as they were collected."""
    glosses = collect(token for record in load_package() for token in record["tokens"])
    log.info(
        "glosses: %d pairs, %d words without a usable sense", len(glosses.pairs), glosses.skipped
    )
    return _rows(glosses.pairs), glosses


@cache
def load_package() -> list[dict[str, Any]]:
    """Load the records of the package, each with its sentence and the words of it."""
    from hsk_sentences_audio import load_sentences  # its data takes a quarter of a second to load

    return list(load_sentences())


def _rows(pairs: Iterable[tuple[str, str]]) -> list[Row]:
    # A sentence is one line of text, whatever its maker wrote.
    return [
        Row(line, " ".join(src.split()), " ".join(tgt.split()), None)
        for line, (src, tgt) in enumerate(pairs, start=1)
    ]
