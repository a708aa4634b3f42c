"""Translations of the same test split by another system, wherever they lie."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hanyi.errors import ArtifactError, DataError, ParamsError
from hanyi.revisions import Revision, not_in_cache
from hanyi.scoring.pairing import (
    Pair,
    parse_translations,
    read_references,
    read_utf8,
    require_ids,
    require_origin,
)

SUFFIX = ".jsonl"  # of our own decoded files; any other holds plain text


def read_baseline(name: str, pairs: Sequence[Pair], decoded: Path, prepared: Path) -> list[str]:
    """Give a baseline's translation of each pair.

    `name` is a file (JSON Lines with `id` and `text`, or plain text, one line for each row in order
    of id), a git revision or a DVC experiment; of the last two, `decoded` is read as it was there.
    Raises `HanyiError` when it cannot be had, or is of another test split than `prepared`.
    """
    path = Path(name)
    if path.is_file() and path.suffix != SUFFIX:
        return _lines(path, len(pairs))
    if path.is_file():
        require_origin(path.with_name("index.json"), prepared)
        text, where = read_utf8(path), str(path)
    else:
        where = f"{name}:{decoded}"
        revision = Revision(name, unknown=_unknown(name))
        text = _read(revision, decoded).decode("utf-8")
        _require_same_references(pairs, prepared, revision)
    texts = parse_translations(text, where)
    require_ids(where, prepared, [pair.id for pair in pairs], list(texts))
    return [texts[pair.id].text for pair in pairs]


def _lines(path: Path, rows: int) -> list[str]:
    lines = list(io.StringIO(read_utf8(path).removesuffix("\n")))  # only line feeds end a line
    if len(lines) != rows:
        raise DataError(
            path,
            f"{len(lines)} lines",
            f"{rows}, one for each row of the test split in order of id",
            "give the translations of this split",
        )
    return [line.removesuffix("\n").removesuffix("\r") for line in lines]


def _unknown(name: str) -> ParamsError:
    return ParamsError(
        "baseline",
        f"no file, revision or experiment {name}",
        "a decoded file, a git revision or the name of a DVC experiment",
        "look at `git log` and `dvc exp list`",
    )


def _read(revision: Revision, path: Path) -> bytes:
    data = revision.read(path)
    if data is None:
        raise not_in_cache(revision.name, str(path))
    return data


def _require_same_references(pairs: Sequence[Pair], prepared: Path, revision: Revision) -> None:
    """Raise `ArtifactError` unless the test split was the same; its sources may differ."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / prepared.name
        copy.write_bytes(_read(revision, prepared))
        there = {number: row[2] for number, row in read_references(copy).items()}
    here = {pair.id: pair.reference for pair in pairs}
    if there != here:
        other = sum(there.get(number) != text for number, text in here.items())
        raise ArtifactError(
            f"{revision.name}:{prepared}",
            f"{len(there)} rows, another reference or none for {other} of the {len(here)} here",
            "the same test split",
            "compare builds of the same test data",
        )
