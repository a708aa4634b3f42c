"""Reading prepared rows in blocks: one Parquet file, or a folder of parts as Spark or Ray write it.

Memory does not grow with the corpus. The columns are `id`, `corpus`, `src` and `tgt`; without `id`
the rows are numbered in order of the parts, without `corpus` all are of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hanyi.artifacts import visible_files
from hanyi.errors import ArtifactError, DataError

REMEDY = "run `dvc repro prepare`"

SPLITS = ("train", "valid", "test")

BLOCK_ROWS = 8192

MOST_CORPORA = 256

UNNAMED = "parts"
"""Name of the corpus of rows that have none."""

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

TYPES = {"id": pa.int64(), "corpus": pa.string(), "src": pa.string(), "tgt": pa.string()}
OPTIONAL = {"id", "corpus"}

Ids = NDArray[np.int64]


class Part(NamedTuple):
    """One Parquet file, and what the folders above it say: `corpus=wmt/` is a column too."""

    path: Path
    folders: Mapping[str, str | None]


def find_parts(path: Path) -> list[Part]:
    """Give the Parquet files of a split, in order of their names; a file is its own only part.

    Raises `ArtifactError` for a folder that holds none.
    """
    if not path.is_dir():
        return [Part(path, {})]
    names = sorted(file.relative_to(path).parts for file in visible_files(path))
    if not names:
        raise ArtifactError(path, "a folder without parts", "prepared rows", REMEDY)
    return [Part(path.joinpath(*name), _partition(name[:-1])) for name in names]


def _partition(folders: Sequence[str]) -> dict[str, str | None]:
    pairs = (folder.partition("=") for folder in folders if "=" in folder)
    return {
        unquote(name): None if value == NO_VALUE else unquote(value) for name, _, value in pairs
    }


def read_blocks(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Give the columns of a split in blocks of rows, in order, with the types of `TYPES`.

    Raises `ArtifactError` when a part is missing, broken or without one of the columns, `DataError`
    for a value that is null or of another kind.
    """
    number, numbered = 0, None
    for part in find_parts(path):
        for block, own_id in read_part(part, columns, first_id=number):
            if numbered not in {None, not own_id} and "id" in columns:
                expected = "it in all parts or in none, for rows are joined by it"
                raise DataError(part.path, "column id in some parts", expected, "give each row one")
            numbered = not own_id
            number += block.num_rows
            yield block


def read_part(
    part: Part, columns: Sequence[str], first_id: int = 0
) -> Iterator[tuple[pa.RecordBatch, bool]]:
    """Give a part's blocks, and whether the rows bring their own ids."""
    schema = pa.schema([(name, TYPES[name]) for name in columns])
    row = 0
    try:
        with pq.ParquetFile(part.path) as file:
            if not file.metadata.num_rows:  # its columns may lack types, or be lacking
                return
            there = file.schema_arrow.names
            known = {*there, *part.folders}
            if missing := [name for name in columns if name not in known | OPTIONAL]:
                found = f"columns {', '.join(there)}"
                raise ArtifactError(part.path, found, f"{', '.join(missing)} too", REMEDY)
            wanted = [name for name in columns if name in there]
            for block in file.iter_batches(batch_size=BLOCK_ROWS, columns=wanted):
                arrays = [_column(part, block, name, row, first_id) for name in columns]
                row += block.num_rows
                yield pa.RecordBatch.from_arrays(arrays, schema=schema), "id" in known
    except FileNotFoundError:
        raise ArtifactError(part.path, "no such file", "prepared rows", REMEDY) from None
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(part.path, error) from None


def _unreadable(path: Path, error: Exception) -> ArtifactError:
    return ArtifactError(path, f"no readable Parquet ({error})", "prepared rows", REMEDY)


def _column(part: Part, block: pa.RecordBatch, name: str, row: int, first_id: int) -> pa.Array:
    rows, kind = block.num_rows, TYPES[name]
    if name in block.schema.names:
        column = block.column(name)
    elif name in part.folders:
        column = pa.repeat(pa.scalar(part.folders[name], pa.string()), rows)
    elif name == "corpus":
        return pa.repeat(UNNAMED, rows)
    else:
        return pa.array(np.arange(rows) + (first_id + row))
    fits = _is_text if kind == pa.string() else _is_number
    expected = "text" if kind == pa.string() else "whole numbers"
    if name in block.schema.names and not fits(column.type):
        raise DataError(f"{part.path}: {name}", f"{column.type}", expected, "convert the column")
    try:
        column = column.cast(kind)
    except pa.ArrowException as error:
        remedy = "convert the column"
        raise DataError(f"{part.path}: {name}", f"{error}", expected, remedy) from None
    if column.null_count:
        at = row + pc.index(pc.is_null(column), True).as_py() + 1
        where = f"{part.path}: row {at}: {name}"
        raise DataError(where, "null", expected, "fill it in or leave the row out")
    return column


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests: tuple[Callable[[Any], bool], ...] = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_null,
    )
    return any(test(kind) for test in tests)


def _is_number(kind: Any) -> bool:
    return any((pa.types.is_integer(kind), pa.types.is_null(kind)))


def count_rows(path: Path) -> int:
    """Count the rows of a split by what its parts say of themselves."""
    return sum(_count(part.path) for part in find_parts(path))


def _count(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except FileNotFoundError:
        raise ArtifactError(path, "no such file", "prepared rows", REMEDY) from None
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None


def read_sample(path: Path, columns: Sequence[str], chars: int) -> Iterator[pa.RecordBatch]:
    """Give blocks of rows in order: all, or evenly spread ones.

    The texts of the last column have about `chars` characters together.
    """
    total = 0
    for block in read_blocks(path, columns[-1:]):
        total += pc.sum(pc.utf8_length(block.column(0))).as_py() or 0
    share = min(1.0, chars / max(total, 1))
    before = 0
    for block in read_blocks(path, columns):
        quota = np.floor(share * np.arange(before, before + block.num_rows + 1))
        yield block.filter(pa.array(quota[1:] > quota[:-1]))
        before += block.num_rows


def corpus_names(paths: Iterable[Path]) -> tuple[str, ...]:
    """Give the names of all corpora of the files, sorted, so that splits number them alike."""
    names: set[str] = set()
    for path in paths:
        for block in read_blocks(path, ["corpus"]):
            names.update(pc.unique(block.column(0)).to_pylist())
    if len(names) > MOST_CORPORA:
        raise ArtifactError(
            "corpora", f"{len(names)} names", f"at most {MOST_CORPORA}", "join some"
        )
    return tuple(sorted(names))
