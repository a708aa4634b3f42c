"""Sources of corpora: each becomes tables in `data/raw/` and their list."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from hanyi.artifacts import atomic_directory
from hanyi.corpus.formats import decide
from hanyi.corpus.pairs import Part, write_list
from hanyi.corpus.sources.config import FetchConfig, weights_of
from hanyi.corpus.sources.pieces import Piece, describe, entries, find_pieces
from hanyi.corpus.sources.writing import write_part
from hanyi.languages import Languages

__all__ = ["FetchConfig", "fetch_corpora"]

log = logging.getLogger("hanyi.corpus")


def fetch_corpora(fetch: FetchConfig, languages: Languages, directory: Path) -> dict[str, Any]:
    """Publish the corpora as tables in `directory`, whole or not at all; give the metrics.

    Each corpus becomes one table for each of its roles. Every input is found, downloaded and
    inspected before anything is written. `rows` and `corpora.<name>.<role>` count rows as read,
    `unreadable.<fault>` those among them that are no pairs.
    """
    metrics: dict[str, Any] = {}
    tables: dict[tuple[str, str], list[Piece]] = {}
    seen: dict[Path, str] = {}
    for entry in entries(fetch, languages):
        for piece in find_pieces(entry, seen, metrics):
            tables.setdefault((piece.corpus, piece.role), []).append(_decided(piece))
    weights = weights_of(fetch.corpora)
    parts: list[Part] = []
    faults: Counter[str] = Counter()
    with atomic_directory(directory) as temporary:
        for (corpus, role), pieces in tables.items():
            path = f"{corpus}.{role}.parquet"
            rows = write_part(temporary / path, pieces, faults)
            parts.append(
                Part(corpus=corpus, role=role, path=path, rows=rows, weight=weights[corpus])
            )
        write_list(temporary, parts)
    counts: dict[str, dict[str, int]] = {}
    for part in parts:
        counts.setdefault(part.corpus, {})[part.role] = part.rows
    total = sum(part.rows for part in parts)
    return {"rows": total, "corpora": counts, "unreadable": dict(faults), **metrics}


def _decided(piece: Piece) -> Piece:
    if piece.file is None:
        return piece
    file = decide(piece.file)
    log.info("%s.%s: %s: %s", piece.corpus, piece.role, piece.name, describe(file))
    return replace(piece, file=file)
