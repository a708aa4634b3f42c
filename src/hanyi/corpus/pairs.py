"""The list of raw tables that `fetch` leaves in `data/raw/`, and the splits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from hanyi.artifacts import read_header, write_header
from hanyi.errors import ArtifactError

LIST = "corpora.json"
KIND = "hanyi.raw"
VERSION = 2

SIDES = ("src", "tgt")
SPLITS = ("train", "valid", "test")
WHOLE = "all"
"""Role of a part whose rows `prepare` divides into the splits that its corpus has no part for."""
ROLES = (*SPLITS, WHOLE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One table of `data/raw/`: the rows of a corpus in one role.

    `path` is relative to that folder, the schema is `tables.RAW`. `weight` says how often each row
    occurs in an epoch of training.
    """

    corpus: str
    role: str
    path: str
    rows: int
    weight: float


def write_list(directory: Path, parts: Iterable[Part]) -> None:
    """Write `corpora.json`, which lists the parts in reading order."""
    write_header(directory / LIST, KIND, VERSION, {"parts": [asdict(part) for part in parts]})


def read_list(directory: Path) -> list[Part]:
    """Read `corpora.json`; raise `ArtifactError` when it is broken or a table of it is missing."""
    fields = read_header(directory / LIST, KIND, VERSION)
    try:
        parts = [Part(**entry) for entry in fields["parts"]]
    except (KeyError, TypeError) as error:
        raise ArtifactError(
            directory / LIST,
            f"a list of tables that cannot be read ({error})",
            "the fields that fetch writes",
            "run `dvc repro --force fetch`",
        ) from None
    for part in parts:
        if not (directory / part.path).is_file():
            raise ArtifactError(
                directory / part.path,
                "no such file",
                f"the table that {LIST} names",
                "run `dvc repro --force fetch`",
            )
    return parts
