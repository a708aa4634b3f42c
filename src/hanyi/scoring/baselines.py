"""Translations of the same test split by another system, wherever they lie."""

from __future__ import annotations

import io
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hanyi.errors import ArtifactError, DataError, ParamsError
from hanyi.scoring.pairing import (
    Pair,
    parse_translations,
    read_references,
    read_utf8,
    require_ids,
    require_origin,
)

SUFFIX = ".jsonl"  # of our own decoded files; any other holds plain text


def read_baseline(name: str, pairs: Sequence[Pair], decoded: Path, prepared: Path) -> list[str]:
    """Give a baseline's translation of each pair.

    `name` is a file (JSON Lines with `id` and `text`, or plain text, one line for each row in order
    of id), a git revision or a DVC experiment; of the last two, `decoded` is read as it was there.
    Raises `HanyiError` when it cannot be had, or is of another test split than `prepared`.
    """
    path = Path(name)
    if path.is_file() and path.suffix != SUFFIX:
        return _lines(path, len(pairs))
    if path.is_file():
        require_origin(path.with_name("index.json"), prepared)
        text, where = read_utf8(path), str(path)
    else:
        where = f"{name}:{decoded}"
        text = _read_revision(decoded, name).decode("utf-8")
        _require_same_references(pairs, prepared, name)
    texts = parse_translations(text, where)
    require_ids(where, prepared, [pair.id for pair in pairs], list(texts))
    return [texts[pair.id].text for pair in pairs]


def _lines(path: Path, rows: int) -> list[str]:
    lines = list(io.StringIO(read_utf8(path).removesuffix("\n")))  # only line feeds end a line
    if len(lines) != rows:
        raise DataError(
            path,
            f"{len(lines)} lines",
            f"{rows}, one for each row of the test split in order of id",
            "give the translations of this split",
        )
    return [line.removesuffix("\n").removesuffix("\r") for line in lines]


def _read_revision(path: Path, revision: str) -> bytes:
    import dvc.api  # a second
    from dvc.exceptions import DvcException
    from dvc.scm import RevError
    from dvc_data.index import DataIndexDirError

    try:
        # Of a revision, DVC takes paths from the top of the repository.
        with dvc.api.open(f"{below_top()}{path.as_posix()}", rev=revision, mode="rb") as file:
            return bytes(file.read())
    except RevError:
        raise ParamsError(
            "baseline",
            f"no file, revision or experiment {revision}",
            "a decoded file, a git revision or the name of a DVC experiment",
            "look at `git log` and `dvc exp list`",
        ) from None
    except (DvcException, DataIndexDirError, OSError):
        raise ArtifactError(
            f"{revision}:{path}",
            "neither in git nor in DVC's cache",
            "what the revision made",
            f"fetch it (`dvc fetch --all-commits`), or build it there (`git switch {revision}` and "
            "`dvc repro`)",
        ) from None


def below_top() -> str:
    """Give where the project lies in its repository, such as `translation/`."""
    command = ["git", "rev-parse", "--show-prefix"]
    try:
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""  # DVC tells


def _require_same_references(pairs: Sequence[Pair], prepared: Path, revision: str) -> None:
    """Raise `ArtifactError` unless the test split was the same; its sources may differ."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / prepared.name
        copy.write_bytes(_read_revision(prepared, revision))
        there = {number: row[2] for number, row in read_references(copy).items()}
    here = {pair.id: pair.reference for pair in pairs}
    if there != here:
        other = sum(there.get(number) != text for number, text in here.items())
        raise ArtifactError(
            f"{revision}:{prepared}",
            f"{len(there)} rows, another reference or none for {other} of the {len(here)} here",
            "the same test split",
            "compare builds of the same test data",
        )
