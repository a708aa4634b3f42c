"""Sources of corpora: each turns its parameters into files in `data/raw/` and their list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from hanyi.artifacts import atomic_directory
from hanyi.corpus.pairs import RawFile, write_list
from hanyi.corpus.sources.files import FilesConfig, fetch_files
from hanyi.corpus.sources.starter import StarterConfig, fetch_starter
from hanyi.params import config, one_of


@config
class FetchConfig:
    """Which corpus to fetch, and the parameters of each source."""

    corpus: str
    inputs: str
    starter: StarterConfig
    files: FilesConfig

    def __post_init__(self) -> None:
        """Check the choice of source."""
        one_of("corpus", self.corpus, SOURCES)


class Fetched(NamedTuple):
    """What a source has written: its files in reading order with their rows, and metrics."""

    files: list[tuple[RawFile, int]]
    metrics: dict[str, Any]


def _starter(fetch: FetchConfig, directory: Path) -> Fetched:
    return Fetched(*fetch_starter(fetch.starter, directory))


def _files(fetch: FetchConfig, directory: Path) -> Fetched:
    return Fetched(fetch_files(fetch.files, Path(fetch.inputs), directory), {})


SOURCES: dict[str, Callable[[FetchConfig, Path], Fetched]] = {
    "starter": _starter,
    "files": _files,
}


def fetch_corpora(fetch: FetchConfig, directory: Path) -> dict[str, Any]:
    """Publish the chosen corpus as `directory`, whole or not at all; give the metrics of `fetch`.

    `corpora.<name>.<role>` and `rows` count rows as read, faulty ones included and headers not.
    """
    with atomic_directory(directory) as temporary:
        fetched = SOURCES[fetch.corpus](fetch, temporary)
        write_list(temporary, (file for file, _ in fetched.files))
    corpora: dict[str, dict[str, int]] = {}
    for file, rows in fetched.files:
        corpora.setdefault(file.corpus, {})[file.role] = rows
    total = sum(rows for _, rows in fetched.files)
    return {"rows": total, "corpora": corpora, **fetched.metrics}
