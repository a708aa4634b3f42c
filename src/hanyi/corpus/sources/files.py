"""The user's own files: one corpus, with valid and test files or without."""

from __future__ import annotations

import logging
import os
import re
import shutil
from pathlib import Path

from hanyi.corpus.formats import FORMATS
from hanyi.corpus.formats.text import ENCODINGS
from hanyi.corpus.pairs import SPLITS, WHOLE, RawFile
from hanyi.errors import DataError
from hanyi.params import config, one_of

log = logging.getLogger("hanyi.corpus")

SECTION = "fetch.files"


@config
class FilesConfig:
    """Where the user's files are, below `fetch.inputs`, and how to read them."""

    name: str
    train: str
    valid: str | None
    test: str | None
    format: str
    delimiter: str
    src_column: int
    tgt_column: int
    header: bool
    encoding: str

    def __post_init__(self) -> None:
        """Check what can be checked without the files."""
        if not re.fullmatch(r"[\w-]+", self.name):
            raise ValueError(f"name must be letters, digits, - and _, got {self.name!r}")
        one_of("format", self.format, FORMATS)
        one_of("encoding", self.encoding, ENCODINGS)
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise ValueError(
                f"delimiter must be one character, no quote and no line end, got {self.delimiter!r}"
            )
        if min(self.src_column, self.tgt_column) < 0 or self.src_column == self.tgt_column:
            raise ValueError(
                "src_column and tgt_column must differ and count from 0,"
                f" got {self.src_column} and {self.tgt_column}"
            )
        given = [name for name in (self.train, self.valid, self.test) if name is not None]
        if "" in given or len(set(given)) < len(given):
            raise ValueError(f"train, valid and test must be different files, got {given}")


def fetch_files(files: FilesConfig, inputs: Path, directory: Path) -> list[tuple[RawFile, int]]:
    """Check the files, then copy them as they are, packed or plain; give each with its rows.

    Raises `DataError` that names the file, the line and the parameter to set.
    """
    checked = []
    for role in SPLITS:
        name = getattr(files, role)
        if name is not None:
            path = _inside(inputs, name, f"{SECTION}.{role}")
            raw = FORMATS[files.format].inspect(path, _describe(files, role, path), section=SECTION)
            checked.append((path, raw, _count(path, raw)))
    for path, raw, _ in checked:
        shutil.copyfile(path, directory / raw.path)
    return [(raw, rows) for _, raw, rows in checked]


def _describe(files: FilesConfig, role: str, path: Path) -> RawFile:
    ending = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    whole = role == "train" and None in (files.valid, files.test)
    return RawFile(
        corpus=files.name, role=WHOLE if whole else role, path=f"{files.name}.{role}{ending}",
        format=files.format, delimiter=files.delimiter, src_column=files.src_column,
        tgt_column=files.tgt_column, columns=0, header=files.header, encoding=files.encoding,
        source=getattr(files, role),
    )  # fmt: skip


def _count(path: Path, raw: RawFile) -> int:
    """Read a file to its end, which shows a broken one before anything is written."""
    rows = faults = 0
    for row in FORMATS[raw.format].read(path, raw):
        if rows == faults and row.fault is None:
            log.info("%s:%d: source %.60r, target %.60r", path, row.line, row.src, row.tgt)
        rows += 1
        faults += row.fault is not None
    log.info("%s: %d rows, %d of them cannot be read as pairs", path, rows, faults)
    return rows


def _inside(inputs: Path, name: str, key: str) -> Path:
    """Join the paths; DVC watches `inputs` alone, so a file elsewhere could change unseen."""
    folder = os.path.normpath(inputs.absolute())
    place = os.path.normpath(inputs.absolute() / name)
    if not inputs.is_dir():
        raise DataError("fetch.inputs", f"no folder {inputs}", "one", "make it or name another")
    if os.path.commonpath([folder, place]) != folder or place == folder:
        raise DataError(
            key, name, f"a file below fetch.inputs ({inputs}), which DVC watches",
            "move the file there or set fetch.inputs",
        )  # fmt: skip
    return inputs / Path(place).relative_to(folder)
