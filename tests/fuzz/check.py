"""What has to hold for a case, whatever its bytes are."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import zstandard
from pyarrow import parquet

from hanyi.corpus import tables
from hanyi.corpus.cleaning.config import PrepareConfig
from hanyi.corpus.formats import decide, text
from hanyi.corpus.formats.inputs import Input
from hanyi.corpus.keys import fold
from hanyi.corpus.pairs import SPLITS, read_list
from hanyi.corpus.pipeline import prepare
from hanyi.corpus.sources import FetchConfig, fetch_corpora
from hanyi.corpus.sources.peek import look_at_corpora
from hanyi.corpus.sources.pieces import entries, find_pieces
from hanyi.errors import HanyiError
from hanyi.languages import Languages
from hanyi.params import parse, read_params
from tests.fuzz.cases import Case

PARAMS = read_params(Path(__file__).parents[2] / "params.yaml")
LANGUAGES = Languages(src="zh", tgt="en")
LINE_FORMATS = ("tsv", "moses", "jsonl")
"""Formats in which every line is one row."""

Rows = list[dict[str, Any]]


class Finding(Exception):
    """Something that must not be; the first word says of which kind."""


@dataclass
class Outcome:
    """How far a case came, and its rows."""

    stage: str
    rows: int = 0
    kept: int = 0


def try_case(case: Case, place: Path) -> Outcome:
    """Put a case through both stages in an empty folder; raise what must not be."""
    inputs = place / "inputs"
    inputs.mkdir()
    for name, content in case.files.items():
        (inputs / name).write_bytes(content)
    values = {**PARAMS["fetch"], "inputs": str(inputs), "corpora": [case.entry]}
    with patch.object(text, "BLOCK_BYTES", case.block_bytes):
        try:
            config = parse("fetch", FetchConfig, values)
        except HanyiError as error:
            return _refused("parameters", error, place, "inputs")
        for look in look_at_corpora(config, LANGUAGES, 3):
            look.reading.encode()
        try:
            with patch.object(tables, "ROW_GROUP", case.row_group):
                fetch_corpora(config, LANGUAGES, place / "raw")
        except HanyiError as error:
            return _refused("fetch", error, place, "inputs")
        raw = _raw_rows(place)
        _check_reading(config, raw)
    split = {"valid": 1, "test": 1, "seed": 1}
    changed = {"split": split, "near_duplicates": case.near_duplicates,
               "rules": [*PARAMS["prepare"]["rules"], *case.rules]}  # fmt: skip
    settings = parse("prepare", PrepareConfig, {**PARAMS["prepare"], **changed})
    try:
        metrics = prepare(place / "raw", place / "prepared", settings, LANGUAGES, 2).metrics()
    except HanyiError as error:
        return _refused("prepare", error, place, "inputs", "raw", rows=len(raw))
    kept = _check_prepared(place / "prepared", raw, metrics)
    _check_folder(place, "inputs", "raw", "prepared")
    return Outcome("kept", len(raw), kept)


def _refused(stage: str, error: HanyiError, place: Path, *expected: str, rows: int = 0) -> Outcome:
    line = str(error)
    if len(line.splitlines()) != 1 or len(line) > 2000:
        raise Finding(
            f"message of {len(line.splitlines())} lines, {len(line)} characters: {line[:300]!r}"
        )
    line.encode()
    _check_folder(place, *expected)
    return Outcome(stage, rows)


def _check_folder(place: Path, *expected: str) -> None:
    found = sorted(path.name for path in place.iterdir())
    if found != sorted(expected):
        raise Finding(f"leftover files: {found}, expected {sorted(expected)}")


def _raw_rows(place: Path) -> Rows:
    rows: Rows = []
    for part in read_list(place / "raw"):
        table = parquet.read_table(place / "raw" / part.path)
        table.validate(full=True)
        if table.num_rows != part.rows or not table.schema.equals(tables.RAW):
            raise Finding(f"lost rows: {table.num_rows} in the table, {part.rows} in its list")
        rows += table.to_pylist()
    for row in rows:
        if row["line"] < 1 or None in (row["src"], row["tgt"]) or (row["fault"] and row["tgt"]):
            raise Finding(f"malformed row: {str(row)[:300]}")
    return rows


def _check_reading(config: FetchConfig, raw: Rows) -> None:
    """Count the units of a file plainly, where its format lets us."""
    [entry] = entries(config, LANGUAGES)
    [piece] = find_pieces(entry, {}, {})
    assert piece.file is not None
    file = decide(piece.file)
    lines = [row["line"] for row in raw]
    format_ = file.reading.format
    if format_ in LINE_FORMATS:
        total = _count_lines(file)
        first = 1 + (file.reading.header and format_ == "tsv")
        if lines != list(range(first, total + 1)):
            raise Finding(f"lost lines: {len(lines)} rows of {total} lines in {format_}")
    elif format_ == "csv":
        total = _count_lines(file)
        for row, after in zip(raw, [*lines[1:], total + 1], strict=bool(raw)):
            size = after - row["line"]
            inside = (row["src"] + row["tgt"]).count("\n") + 1
            if size < 1 or (row["fault"] in {"blank", "quotes"} and size != 1) or (
                row["fault"] is None and size < inside
            ):  # fmt: skip
                raise Finding(f"lost lines: {size} at line {row['line']} of csv, {row['fault']}")
    elif lines != sorted(lines) and format_ not in {"sgm", "po"}:
        raise Finding(f"wrong order of lines in {format_}")


def _count_lines(file: Input) -> int:
    encoding = file.reading.encoding
    content = _unpacked(file.path.read_bytes())
    if encoding == "utf-16":
        encoding = "utf-16-be" if content[:2] == b"\xfe\xff" else "utf-16-le"
    step = 2 if encoding.startswith("utf-16") else 1
    newline = "\n".encode(encoding)
    ends = [at + step for at in range(0, len(content), step) if content[at : at + step] == newline]
    rest = content[ends[-1] if ends else 0 :]
    mark = b"" if ends else "\ufeff".encode(encoding, "ignore")
    return len(ends) + bool(rest.removeprefix(mark) if mark else rest)


def _unpacked(data: bytes) -> bytes:
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    if data.startswith(b"\xfd7zXZ"):
        return lzma.decompress(data)
    if data.startswith(b"BZh") and data[4:5] in b"1\x17":
        return bz2.decompress(data)
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        unpack = zstandard.ZstdDecompressor()
        return unpack.stream_reader(io.BytesIO(data), read_across_frames=True).read()
    return data


def _check_prepared(folder: Path, raw: Rows, metrics: dict[str, Any]) -> int:
    found = {name: parquet.read_table(folder / f"{name}.parquet") for name in (*SPLITS, "rejected")}
    for table in found.values():
        table.validate(full=True)
    kept = pa.concat_tables(found[split] for split in SPLITS).to_pylist()
    rejected = found["rejected"].to_pylist()
    counts = {"read": len(raw), "kept": len(kept), "rejected": len(rejected)}
    if len(kept) + len(rejected) != len(raw) or metrics["rows"] != counts:
        raise Finding(f"lost rows: {counts}, metrics {metrics['rows']}")
    places = {row["id"] for row in kept}
    gone = Counter((row["file"], row["line"]) for n, row in enumerate(raw) if n not in places)
    if len(places) != len(kept) or gone != Counter((row["file"], row["line"]) for row in rejected):
        raise Finding("lost rows: what is not kept is not what is rejected")
    reasons = Counter(row["reason"] for row in rejected)
    if reasons != Counter({name: n for name, n in metrics["rejected"].items() if n}):
        raise Finding(f"wrong counts: {reasons}")
    sentences = {
        name: {fold(one) for side in ("src", "tgt") for one in found[name][side].to_pylist()}
        for name in SPLITS
    }
    train, valid, test = (sentences[name] for name in SPLITS)
    if train & (valid | test) or valid & test:
        raise Finding("leak: a sentence is in two splits")
    return len(kept)
