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


def read_texts(path: Path, column: str) -> Iterator[str]:
    """Give the texts of one column in order."""
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
