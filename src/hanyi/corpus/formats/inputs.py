"""One input of a corpus: a file, or a pair of files, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hanyi.languages import Languages
from hanyi.params import config

AUTO = "auto"


@config
class Reading:
    """How files are read; `auto` is decided by the file."""

    format: str
    encoding: str
    delimiter: str
    src_column: int | str
    tgt_column: int | str
    header: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Input:
    """A file, or a source and a target file, with everything that is needed to read it.

    `names` are the user's own names of `paths`, for the rows and for messages. `section` is the
    dotted name of the parameters to set, such as `fetch.reading`. `columns` is how many each row
    has, once the file has been inspected.
    """

    paths: tuple[Path, ...]
    names: tuple[str, ...]
    reading: Reading
    languages: Languages
    section: str
    columns: int = 0

    @property
    def path(self) -> Path:
        """Give the only file, or the one of the source side."""
        return self.paths[0]

    @property
    def name(self) -> str:
        """Give the user's own name for the input."""
        return " + ".join(self.names)
