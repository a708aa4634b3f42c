"""Raw files as `fetch` leaves them in `data/raw/`, and the rows that come out of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from hanyi.artifacts import read_header, write_header
from hanyi.errors import ArtifactError

LIST = "corpora.json"
KIND = "hanyi.raw"
VERSION = 1

SPLITS = ("train", "valid", "test")
WHOLE = "all"
"""Role of a file whose rows `prepare` divides into the splits that its corpus has no file for."""
ROLES = (*SPLITS, WHOLE)


class Row(NamedTuple):
    """One row of a raw file.

    `line` counts from 1 and is the row's first line. `fault` is the reason why the row could not be
    read (then `src` holds its text as far as it goes), or None.
    """

    line: int
    src: str
    tgt: str
    fault: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RawFile:
    """One file of `data/raw/` and how to read it.

    `path` is relative to that folder; `source` is the user's own name for the file, for messages.
    Columns count from 0; `columns` is how many each row has.
    """

    corpus: str
    role: str
    path: str
    format: str
    delimiter: str
    src_column: int
    tgt_column: int
    columns: int
    header: bool
    encoding: str
    source: str


def write_list(directory: Path, files: Iterable[RawFile]) -> None:
    """Write `corpora.json`, which lists the files in reading order."""
    write_header(directory / LIST, KIND, VERSION, {"files": [asdict(file) for file in files]})


def read_list(directory: Path) -> list[RawFile]:
    """Read `corpora.json`; raise `ArtifactError` when it is broken or a file of it is missing."""
    fields = read_header(directory / LIST, KIND, VERSION)
    try:
        files = [RawFile(**entry) for entry in fields["files"]]
    except (KeyError, TypeError) as error:
        raise ArtifactError(
            directory / LIST,
            f"a list of files that cannot be read ({error})",
            "the fields that fetch writes",
            "run `dvc repro --force fetch`",
        ) from None
    for file in files:
        if not (directory / file.path).is_file():
            raise ArtifactError(
                directory / file.path,
                "no such file",
                f"the file that {LIST} names",
                "run `dvc repro --force fetch`",
            )
    return files
