"""Parquet: two columns of a table, by name, by path into structs, or by position."""

from __future__ import annotations

import logging
import pathlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import parquet

from hanyi.corpus.formats.inputs import Input
from hanyi.corpus.formats.named import find_pair, listed
from hanyi.corpus.formats.packing import is_packed, open_bytes
from hanyi.corpus.tables import ROW_GROUP, ROWS
from hanyi.errors import DataError

log = logging.getLogger("hanyi.corpus")

REASONS = ("encoding", "columns")
"""Faults of a row: bytes that are no UTF-8; a side that is null."""

DEFAULTS = (1, 0)
"""The positions of source and target that no user has chosen: names go before them."""

Path = tuple[str, ...]
"""The steps to a column: its name, and those of the fields of structs."""


def inspect(file: Input) -> Input:
    """Find the columns and check that they are text; the given file names them.

    Raises `DataError` that lists the columns, and for what is no Parquet file.
    """
    with _opened(file) as table:
        if not table.metadata.num_rows:
            raise DataError(file.name, "no rows", "a table with rows", "give another file")
        schema = table.schema_arrow
        src, tgt = _columns(file, schema)
        for key, column in (("src_column", src), ("tgt_column", tgt)):
            kind = _kind(schema, _path(file, schema, column, key))
            if not _is_text(kind):
                raise DataError(
                    file.name, f"{str(kind)[:100]} in column {column[:100]}", "text",
                    f"set {file.section}.{key}, to one of {listed(_texts(schema))}",
                )  # fmt: skip
    return replace(file, reading=replace(file.reading, src_column=src, tgt_column=tgt))


def read(file: Input) -> Iterator[pa.RecordBatch]:
    """Give the rows of the table, `line` being their number; a row group is read bit by bit."""
    with _opened(file) as table:
        schema = table.schema_arrow
        src = _path(file, schema, str(file.reading.src_column), "src_column")
        tgt = _path(file, schema, str(file.reading.tgt_column), "tgt_column")
        first = 1
        for block in table.iter_batches(
            ROW_GROUP, columns=sorted({".".join(src), ".".join(tgt)}), use_threads=False
        ):
            yield _rows(first, *(_strings(_column(block, path)) for path in (src, tgt)))
            first += block.num_rows


@contextmanager
def _opened(file: Input) -> Iterator[parquet.ParquetFile]:
    # Without buffering ahead: it would hold all that has been read until the file is closed.
    options = {"pre_buffer": False, "buffer_size": 1 << 20}
    with (
        _unpacked(file) as source,
        _readable(file),
        parquet.ParquetFile(source, **options) as table,
    ):
        yield table


@contextmanager
def _unpacked(file: Input) -> Iterator[pathlib.Path | IO[bytes]]:
    """Give the file; where it is packed a temporary one, as Parquet is read from its end."""
    if not is_packed(file.path, file.name):
        yield file.path
        return
    with TemporaryFile() as temporary:
        with open_bytes(file.path, file.name) as unpacked:
            shutil.copyfileobj(unpacked, temporary, 1 << 20)
        yield temporary


@contextmanager
def _readable(file: Input) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(
            file.name, f"no Parquet that can be read ({str(error)[:200]})", "a whole Parquet file",
            f"copy or download it again, or set {file.section}.format",
        ) from None  # fmt: skip


def _columns(file: Input, schema: Any) -> tuple[str, str]:
    """Give the names of both columns, whatever the parameters call them."""
    wanted = file.reading.src_column, file.reading.tgt_column
    if wanted == DEFAULTS and (pair := find_pair(_texts(schema), file.languages)):
        log.info("%s: source and target are the columns %s and %s", file.name, *pair)
        return pair
    names = []
    for key, column in zip(("src_column", "tgt_column"), wanted, strict=True):
        if isinstance(column, int):
            if column >= len(schema.names):
                raise DataError(
                    file.name, f"{len(schema.names)} columns ({listed(schema.names)})",
                    f"at least {column + 1}", f"set {file.section}.{key}, to a name",
                )  # fmt: skip
            column = schema.names[column]  # noqa: PLW2901
        names.append(column)
    return names[0], names[1]


def _path(file: Input, schema: Any, column: str, key: str) -> Path:
    """Find a column by its whole name, else as a path into structs."""
    if schema.names.count(column) == 1:
        return (column,)
    path = tuple(column.split("."))
    if _kind(schema, path) is None:
        count = schema.names.count(column)
        raise DataError(
            file.name, f"{count or 'no'} columns {column} among {listed(_all(schema))}",
            "one of that name", f"set {file.section}.{key}; a.b is field b of column a",
        )  # fmt: skip
    return path


def _kind(schema: Any, path: Path) -> Any:
    """Give the type of what a path leads to, None when it leads nowhere."""
    if schema.names.count(path[0]) != 1:
        return None
    kind = schema.field(path[0]).type
    for step in path[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(step) < 0:
            return None
        kind = kind.field(step).type
    return kind


def _is_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    # Binary: some writers leave out that a column is text.
    return kind in {
        pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
    }  # fmt: skip


def _texts(schema: Any) -> list[str]:
    """Name the columns of text."""
    return [name for name in _all(schema) if _is_text(_kind(schema, _steps(schema, name)))]


def _all(schema: Any) -> list[str]:
    """Name all columns, and the fields of structs by their paths."""
    names = []
    for field in schema:
        inner = field.type if pa.types.is_struct(field.type) else ()
        names += [f"{field.name}.{one.name}" for one in inner] or [field.name]
    return [name for name in names if _kind(schema, _steps(schema, name)) is not None]


def _steps(schema: Any, name: str) -> Path:
    return (name,) if name in schema.names else tuple(name.split("."))


def _column(block: pa.RecordBatch, path: Path) -> pa.Array:
    column = block.column(path[0])
    return pc.struct_field(column, list(path[1:])) if path[1:] else column


def _strings(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Give a column as strings, and which of them have bytes that are no UTF-8."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    broken = pa.repeat(pa.scalar(False), len(column))
    raw = column.cast(pa.binary())
    strings = raw.view(pa.string())
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        # Rare, so the slow way: each value by itself.
        values = [None if value is None else _decoded(value) for value in raw.to_pylist()]
        broken = pa.array([bool(value and value[1]) for value in values])
        strings = pa.array([value and value[0] for value in values], pa.string())
    return strings, broken


def _decoded(value: bytes) -> tuple[str, bool]:
    try:
        return value.decode("utf-8"), False
    except UnicodeDecodeError:
        return value.decode("utf-8", "replace"), True


def _rows(
    first: int, src: tuple[pa.Array, pa.Array], tgt: tuple[pa.Array, pa.Array]
) -> pa.RecordBatch:
    """Join both sides into a block of schema `ROWS`; `first` is the number of its first row."""
    (src_text, src_broken), (tgt_text, tgt_broken) = src, tgt
    null = pc.or_(pc.is_null(src_text), pc.is_null(tgt_text))
    fault = pc.case_when(
        pc.make_struct(pc.or_(src_broken, tgt_broken), null),
        pa.scalar("encoding"), pa.scalar("columns"), pa.scalar(None, pa.string()),
    )  # fmt: skip
    kept = pc.is_null(fault)
    both = pc.coalesce(
        pc.binary_join_element_wise(src_text, tgt_text, "\t"), src_text, tgt_text, pa.scalar("")
    )
    lines = pa.array(np.arange(first, first + len(src_text)))
    return pa.RecordBatch.from_arrays(
        [
            lines,
            pc.if_else(kept, src_text, both),
            pc.if_else(kept, tgt_text, pa.scalar("")),
            fault.cast(pa.string()),
        ],
        schema=ROWS,
    )
