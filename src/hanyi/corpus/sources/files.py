"""The user's own files below `fetch.inputs`: a path, a glob, or a folder of Parquet parts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from hanyi.corpus.sources.config import CorpusConfig
from hanyi.errors import DataError

_GLOB = re.compile(r"[*?\[]")


def find_files(corpus: CorpusConfig, inputs: Path, where: str) -> list[tuple[Path, ...]]:
    """Give the files of an entry, sorted by name; for two names the pairs of files.

    Raises `DataError` for none, for one outside of `inputs`, and for two lists of unequal length.
    """
    sides = [_files(name, inputs, f"{where}.source") for name in corpus.names]
    counts = [len(side) for side in sides]
    if len(set(counts)) > 1:
        raise DataError(
            f"{where}.source", " and ".join(f"{count} files" for count in counts),
            "as many files of the target side as of the source side", "mend the names or the globs",
        )  # fmt: skip
    return list(zip(*sides, strict=True))


def name_below(path: Path, inputs: Path) -> str:
    """Give a file's path below `inputs`: the user's own name of it."""
    return path.relative_to(inputs).as_posix()


def _files(name: str, inputs: Path, where: str) -> list[Path]:
    path = _inside(inputs, name, where)
    if path.is_dir():
        if found := sorted(_parts(path)):
            return found
        raise DataError(
            where, f"no .parquet file in {path}", "the parts of a table",
            f"name the files, such as {name.rstrip('/')}/*.tsv.gz",
        )  # fmt: skip
    if path.is_file() or not _GLOB.search(name):
        if path.is_file():
            return [path]
        raise DataError(path, "no such file", f"the file that {where} names", _there(inputs, where))
    pattern = path.relative_to(inputs).as_posix()
    matches = [match for match in inputs.glob(pattern) if not match.name.startswith(".")]
    found = sorted(match for match in matches if match.is_file())
    if found:
        return found
    if parts := sorted(part for match in matches if match.is_dir() for part in _parts(match)):
        return parts
    raise DataError(where, f"{name} matches nothing", f"files in {inputs}", _there(inputs, where))


def _parts(folder: Path) -> Iterator[Path]:
    """Give the Parquet files below a folder, as Spark, Ray and Dask leave them.

    Names that begin with _ or . are notes of the engine or halves of a broken run.
    """
    for path in folder.rglob("*.parquet"):
        hidden = any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def _there(inputs: Path, where: str) -> str:
    """Say what lies in `inputs`: a wrong name is then seen at once."""
    names = sorted(path.name for path in inputs.iterdir() if not path.name.startswith("."))
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"set {where} or put it there ({inputs} has {shown or 'no files'})"


def _inside(inputs: Path, name: str, where: str) -> Path:
    """Join the paths; DVC watches `inputs` alone, so a file elsewhere could change unseen."""
    folder = os.path.normpath(inputs.absolute())
    place = os.path.normpath(inputs.absolute() / name)
    if not inputs.is_dir():
        raise DataError("fetch.inputs", f"no folder {inputs}", "one", "make it or name another")
    if os.path.commonpath([folder, place]) != folder or place == folder:
        raise DataError(
            where, name, f"a file below fetch.inputs ({inputs}), which DVC watches",
            "move the file there or set fetch.inputs",
        )  # fmt: skip
    return inputs / Path(place).relative_to(folder)
