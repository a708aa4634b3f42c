"""Reading prepared Parquet in blocks, so that memory does not grow with the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hanyi.errors import ArtifactError

REMEDY = "run `dvc repro prepare`"

SPLITS = ("train", "valid", "test")

BLOCK_ROWS = 8192

MOST_CORPORA = 256


def read_blocks(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Give the columns of a Parquet file in blocks of rows, in order.

    Raises `ArtifactError` when the file is missing, broken or without one of the columns.
    """
    try:
        with pq.ParquetFile(path) as file:
            missing = [name for name in columns if name not in file.schema_arrow.names]
            if missing:
                found = f"columns {', '.join(file.schema_arrow.names)}"
                raise ArtifactError(path, found, f"{', '.join(missing)} too", REMEDY)
            yield from file.iter_batches(batch_size=BLOCK_ROWS, columns=list(columns))
    except FileNotFoundError:
        raise ArtifactError(path, "no such file", "prepared rows", REMEDY) from None
    except (pa.ArrowException, OSError) as error:
        raise ArtifactError(
            path, f"no readable Parquet ({error})", "prepared rows", REMEDY
        ) from None


def read_sample(path: Path, column: str, chars: int) -> Iterator[str]:
    """Give the texts of one column in order: all, or about `chars` characters, evenly spread."""
    total = 0
    for block in read_blocks(path, [column]):
        total += pc.sum(pc.utf8_length(block.column(0))).as_py() or 0
    share = min(1.0, chars / max(total, 1))
    taken = 0
    for number, text in enumerate(_texts(path, column), start=1):
        if taken < int(number * share):
            taken += 1
            yield text


def _texts(path: Path, column: str) -> Iterator[str]:
    for block in read_blocks(path, [column]):
        yield from block.column(0).to_pylist()


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
