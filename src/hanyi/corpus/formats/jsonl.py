"""JSON Lines: every line an object, with the sides below two of its keys."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pyarrow as pa

from hanyi.corpus.formats.encodings import decide_encoding
from hanyi.corpus.formats.inputs import Input
from hanyi.corpus.formats.named import find_pair, listed
from hanyi.corpus.formats.text import MARK, lines
from hanyi.corpus.tables import Row, row_blocks
from hanyi.errors import DataError

log = logging.getLogger("hanyi.corpus")

REASONS = ("encoding", "blank", "json", "columns")
"""Faults of a line, in the order in which they are looked for; `columns`: a side is no string."""

SAMPLE_LINES = 100

# Numbers are of no use here, and a long row of digits takes an int ages.
_decode = json.JSONDecoder(parse_int=float).decode


def inspect(file: Input) -> Input:
    """Find the keys, unless the user names them, and check the first lines.

    Columns that are numbers mean nothing here: then the keys are found by the languages. Raises
    `DataError` that lists the keys which are there.
    """
    file = decide_encoding(file)
    all_lines = lines(file.path, file.reading.encoding, file.name)
    sample = list(islice(_not_blank(all_lines), SAMPLE_LINES))
    if not sample:
        raise DataError(file.name, "no lines", "a JSON object in each line", "give another file")
    whole = (line for _, line in sample if MARK not in line)
    objects = [record for line in whole if (record := _object(line)) is not None]
    if 2 * len(objects) < len(sample):
        raise _no_objects(file, sample)
    file = _with_keys(file, objects)
    keys = str(file.reading.src_column), str(file.reading.tgt_column)
    for name, key in zip(("src_column", "tgt_column"), keys, strict=True):
        texts = sum(_value(record, key, key.split(".")) is not None for record in objects)
        if 2 * texts < len(objects):
            raise DataError(
                f"{file.name}:{sample[0][0]}", f"keys {listed(_paths(objects))}",
                f"a string in {key}", f"set {file.section}.{name}; a.b is key b of key a",
            )  # fmt: skip
    return file


def read(file: Input) -> Iterator[pa.RecordBatch]:
    """Give a row for each line; a key is looked for by its whole name first, then as a path."""
    yield from row_blocks(_rows(file))


def _rows(file: Input) -> Iterator[Row]:
    src_key, tgt_key = str(file.reading.src_column), str(file.reading.tgt_column)
    src_path, tgt_path = src_key.split("."), tgt_key.split(".")
    for number, line in enumerate(lines(file.path, file.reading.encoding, file.name), start=1):
        src = tgt = fault = None
        if MARK in line:
            fault, line = "encoding", line.replace(MARK, "\ufffd")  # noqa: PLW2901
        elif not line or line.isspace():
            fault = "blank"
        elif (record := _object(line)) is None:
            fault = "json"
        else:
            src, tgt = _value(record, src_key, src_path), _value(record, tgt_key, tgt_path)
            if src is None or tgt is None:
                fault = "columns"
            elif "\\u" in line and not (_is_text(src) and _is_text(tgt)):
                fault = "encoding"
        if fault or src is None or tgt is None:
            yield Row(number, line, "", fault)
        else:
            yield Row(number, src, tgt, None)


def _object(line: str) -> dict[str, Any] | None:
    try:
        record = _decode(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _value(record: dict[str, Any], key: str, path: list[str]) -> str | None:
    found: Any = record.get(key)
    if found is None and len(path) > 1:
        found = record
        for step in path:
            found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, str) else None


def _is_text(value: str) -> bool:
    """Tell whether the escapes of a string made no half of a surrogate pair, which is no text."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _with_keys(file: Input, objects: list[dict[str, Any]]) -> Input:
    """Find the keys that are not named."""
    reading = file.reading
    if isinstance(reading.src_column, str) and isinstance(reading.tgt_column, str):
        return file
    names = _paths(objects)
    pair = find_pair(names, file.languages)
    if pair is None:
        raise DataError(
            f"{file.name}:1", f"keys {listed(names)}",
            f"one for {file.languages.src} and one for {file.languages.tgt}",
            f"set {file.section}.src_column and .tgt_column to keys; a.b is key b of key a",
        )  # fmt: skip
    src = reading.src_column if isinstance(reading.src_column, str) else pair[0]
    tgt = reading.tgt_column if isinstance(reading.tgt_column, str) else pair[1]
    log.info("%s: source and target are the keys %s and %s", file.name, src, tgt)
    return replace(file, reading=replace(reading, src_column=src, tgt_column=tgt))


def _paths(objects: Iterable[dict[str, Any]]) -> list[str]:
    """Name the keys that hold strings, those of inner objects as paths, the frequent first."""
    counts: Counter[str] = Counter()
    for record in objects:
        for key, value in record.items():
            inner = value.items() if isinstance(value, dict) else ()
            counts.update(f"{key}.{name}" for name, text in inner if isinstance(text, str))
            if isinstance(value, str):
                counts[key] += 1
    return [name for name, _ in counts.most_common()]


def _not_blank(all_lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    return (
        (number, line) for number, line in enumerate(all_lines, 1) if line and not line.isspace()
    )


def _no_objects(file: Input, sample: list[tuple[int, str]]) -> DataError:
    number, line = next((n, x) for n, x in sample if MARK in x or _object(x) is None)
    broken = sum(MARK in line for _, line in sample)
    if 2 * broken > len(sample):
        return DataError(
            f"{file.name}:{number}", f"bytes that are no {file.reading.encoding} in most lines",
            "text", f"set {file.section}.encoding to that of the file",
        )  # fmt: skip
    found = "a JSON array" if line.lstrip().startswith("[") else f"{line[:40]!r}"
    return DataError(
        f"{file.name}:{number}", found, "a JSON object in each line",
        f"convert it (jq -c '.[]'), or set {file.section}.format",
    )  # fmt: skip
