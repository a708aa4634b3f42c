"""Translations beside their references, joined on `id`, never on the order of lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hanyi.artifacts import DECODED, digest_path, read_header
from hanyi.errors import ArtifactError
from hanyi.tokens.identity import check_ids
from hanyi.tokens.prepared import read_blocks

REMEDY = "run `dvc repro`"


class Pair(NamedTuple):
    """One test row: what was to be translated, the human translation and the model's.

    `log_prob` is the model's own, in nats, and `finished` is False for a translation that was cut
    at the largest length; a decoded file made elsewhere may say neither.
    """

    id: int
    corpus: str
    source: str
    reference: str
    hypothesis: str
    log_prob: float | None = None
    finished: bool = True


class _Translation(NamedTuple):
    text: str
    log_prob: float | None
    finished: bool


def read_pairs(decoded: Path, prepared: Path) -> list[Pair]:
    """Join a decoded split (JSON Lines) with its prepared one (Parquet), in order of id.

    Raises `ArtifactError` when a row is missing, surplus, twice there or unreadable, and when the
    translations are those of another split; `DataError` for values that are no text.
    """
    rows = _read_references(prepared)
    _check_origin(decoded.with_name("index.json"), prepared)
    texts = _read_hypotheses(decoded)
    _check_ids(decoded, prepared, list(rows), list(texts))
    return [Pair(key, *rows[key], *texts[key]) for key in sorted(rows)]


def by_corpus(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Group pairs by the name of their corpus, names in order."""
    groups: dict[str, list[Pair]] = {name: [] for name in sorted({pair.corpus for pair in pairs})}
    for pair in pairs:
        groups[pair.corpus].append(pair)
    return groups


def places_by_corpus(pairs: Sequence[Pair]) -> dict[str, NDArray[np.int64]]:
    """Give the places of the pairs of each corpus, names in order."""
    names = np.array([pair.corpus for pair in pairs])
    return {str(name): np.flatnonzero(names == name) for name in np.unique(names)}


def _read_references(path: Path) -> dict[int, tuple[str, str, str]]:
    check_ids(path)
    return {
        number: (corpus, source, reference)
        for block in read_blocks(path, ["id", "corpus", "src", "tgt"])
        for number, corpus, source, reference in zip(
            *(column.to_pylist() for column in block.columns), strict=True
        )
    }


def _check_origin(index: Path, prepared: Path) -> None:
    """Raise `ArtifactError` for translations of another split; a foreign file has no index."""
    if not index.exists():
        return
    found, wanted = read_header(index, *DECODED).get("test"), digest_path(prepared)
    if found != wanted:
        raise ArtifactError(
            index, f"translations of a test split {found}", f"{prepared} ({wanted})", REMEDY
        )


def _read_hypotheses(path: Path) -> dict[int, _Translation]:
    texts: dict[int, _Translation] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise ArtifactError(path, "no such file", "the decoded split", REMEDY) from None
    except UnicodeDecodeError as error:
        raise ArtifactError(path, str(error), "UTF-8", REMEDY) from None
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        row = _read_line(f"{path}:{number}", line)
        if row["id"] in texts:
            raise ArtifactError(f"{path}:{number}", f"id {row['id']} again", "each id once", REMEDY)
        texts[row["id"]] = _Translation(
            row["text"], _number(row.get("log_prob")), row.get("finished") is not False
        )
    return texts


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _read_line(where: str, line: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ArtifactError(where, f"broken JSON ({error})", "one object a line", REMEDY) from None
    found = row if isinstance(row, dict) else {}
    if not (isinstance(found.get("id"), int) and isinstance(found.get("text"), str)):
        raise ArtifactError(where, "no id or no text", "both in each row", REMEDY)
    return found


def _check_ids(decoded: Path, prepared: Path, wanted: Sequence[int], found: Sequence[int]) -> None:
    missing = sorted(set(wanted) - set(found))
    surplus = sorted(set(found) - set(wanted))
    if missing or surplus:
        first = f"first missing id {missing[0]}" if missing else f"first surplus id {surplus[0]}"
        raise ArtifactError(
            decoded,
            f"{len(missing)} rows missing and {len(surplus)} surplus ({first})",
            f"the {len(wanted)} rows of {prepared}",
            REMEDY,
        )
