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


class Translation(NamedTuple):
    """What a line of a decoded split says of a row, `log_prob` in nats."""

    text: str
    log_prob: float | None
    finished: bool


def read_pairs(decoded: Path, prepared: Path) -> list[Pair]:
    """Join a decoded split (JSON Lines) with its prepared one (Parquet), in order of id.

    Raises `ArtifactError` when a row is missing, surplus, twice there or unreadable, and when the
    translations are those of another split; `DataError` for values that are no text.
    """
    rows = read_references(prepared)
    require_origin(decoded.with_name("index.json"), prepared)
    texts = _read_hypotheses(decoded)
    require_ids(decoded, prepared, list(rows), list(texts))
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


def read_references(path: Path) -> dict[int, tuple[str, str, str]]:
    """Give corpus, source and reference of each row of a prepared split, by id."""
    check_ids(path)
    return {
        number: (corpus, source, reference)
        for block in read_blocks(path, ["id", "corpus", "src", "tgt"])
        for number, corpus, source, reference in zip(
            *(column.to_pylist() for column in block.columns), strict=True
        )
    }


def require_origin(index: Path, prepared: Path) -> None:
    """Raise `ArtifactError` for translations of another split; a foreign file has no index."""
    if not index.exists():
        return
    found, wanted = read_header(index, *DECODED).get("test"), digest_path(prepared)
    if found != wanted:
        raise ArtifactError(
            index, f"translations of a test split {found}", f"{prepared} ({wanted})", REMEDY
        )


def _read_hypotheses(path: Path) -> dict[int, Translation]:
    return parse_translations(read_utf8(path), path)


def read_utf8(path: Path) -> str:
    """Read a file of translations; raise `ArtifactError` when that cannot be done."""
    try:
        return path.read_bytes().decode("utf-8-sig")  # line ends as they are
    except UnicodeDecodeError as error:
        found = str(error)
    except OSError as error:
        found = str(error.strerror).lower()
    found = "no such file" if found.startswith("no such file") else found
    raise ArtifactError(path, found, "translations in UTF-8", REMEDY)


def parse_translations(text: str, where: object) -> dict[int, Translation]:
    """Read the text of a decoded split (JSON Lines) that lies at `where`; give it by id."""
    texts: dict[int, Translation] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        row = _read_line(f"{where}:{number}", line)
        if row["id"] in texts:
            found = f"id {row['id']} again"
            raise ArtifactError(f"{where}:{number}", found, "each id once", REMEDY)
        texts[row["id"]] = Translation(
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


def require_ids(
    decoded: object, prepared: object, wanted: Sequence[int], found: Sequence[int]
) -> None:
    """Raise `ArtifactError` unless a decoded split has the rows of the prepared one."""
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
