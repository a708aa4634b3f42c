"""What the entries of `fetch.corpora` come to: pieces of corpora, found but not yet read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from hanyi.corpus.formats import FORMATS
from hanyi.corpus.formats.inputs import Input
from hanyi.corpus.pairs import SPLITS
from hanyi.corpus.sources.config import (
    FILES,
    ROLE_OF_SCHEME,
    STARTER,
    URL,
    CorpusConfig,
    FetchConfig,
)
from hanyi.corpus.sources.download import download
from hanyi.corpus.sources.files import find_files, name_below
from hanyi.corpus.sources.public import fetch_public
from hanyi.corpus.sources.starter import collect_glosses, load_hsk, make_everyday
from hanyi.corpus.sources.testsets import fetch_test_set
from hanyi.corpus.sources.transfer import plain
from hanyi.corpus.tables import Row, row_blocks
from hanyi.errors import DataError
from hanyi.languages import Languages

_WITH_DELIMITER = {"tsv", "csv"}
_WITH_COLUMNS = {*_WITH_DELIMITER, "jsonl", "parquet"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """Rows of one corpus in one role: an input, or rows that are there already."""

    corpus: str
    role: str
    name: str
    file: Input | None = None
    rows: tuple[Row, ...] = ()

    def read(self) -> Iterator[pa.RecordBatch]:
        """Give the rows in blocks of schema `tables.ROWS`; a file must have been decided."""
        if self.file is None:
            return row_blocks(self.rows)
        return FORMATS[self.file.reading.format].read(self.file)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of `fetch.corpora` with what all share; `where` is its dotted name."""

    corpus: CorpusConfig
    fetch: FetchConfig
    languages: Languages
    where: str


def entries(fetch: FetchConfig, languages: Languages) -> list[Entry]:
    """Give the entries in order."""
    return [
        Entry(corpus, fetch, languages, f"fetch.corpora.{number}")
        for number, corpus in enumerate(fetch.corpora)
    ]


def find_pieces(entry: Entry, seen: dict[Path, str], metrics: dict[str, Any]) -> Iterator[Piece]:
    """Give the pieces of an entry in order, downloaded where need be.

    `seen` and `metrics` are shared by all entries: which entry names a file, and what a source has
    to tell. Raises `DataError` for a source that cannot be found, and for a file named twice.
    """
    corpus = entry.corpus
    if corpus.scheme == "starter":
        yield from _starter(entry, metrics)
        return
    for file in _SOURCES[corpus.scheme](entry):
        for path, name in zip(file.paths, file.names, strict=True):
            if (other := seen.setdefault(path, entry.where)) != entry.where:
                raise DataError(
                    f"{entry.where}.source", f"{name}, which {other}.source gives too",
                    "each file once", "remove one of the entries",
                )  # fmt: skip
        role = corpus.role or ROLE_OF_SCHEME[corpus.scheme]
        yield Piece(corpus=corpus.name, role=role, name=file.name, file=file)


def describe(file: Input) -> str:
    """Say in a few words how a file is read, once that has been decided."""
    reading = file.reading
    words = [reading.format, reading.encoding]
    if reading.format in _WITH_DELIMITER:
        words += [
            f"delimiter {reading.delimiter!r}",
            "with a header" if reading.header else "no header",
        ]
    if reading.format in _WITH_COLUMNS:
        words.append(f"source {reading.src_column}, target {reading.tgt_column}")
    return ", ".join(words)


def _files(entry: Entry) -> Iterator[Input]:
    inputs = Path(entry.fetch.inputs)
    for paths in find_files(entry.corpus, inputs, entry.where):
        yield _input(entry, paths, tuple(name_below(path, inputs) for path in paths))


def _url(entry: Entry) -> Iterator[Input]:
    url = entry.corpus.names[0]
    yield _input(entry, (download(url, entry.where, entry.corpus.sha256),), (plain(url),))


def _mtdata(entry: Entry) -> Iterator[Input]:
    name = entry.corpus.detail
    public = fetch_public(name, entry.languages, entry.where, entry.corpus.sha256)
    for paths in public.files:
        yield _input(entry, paths, tuple(f"{name}/{path.name}" for path in paths), public.reading)


def _sacrebleu(entry: Entry) -> Iterator[Input]:
    paths = fetch_test_set(entry.corpus.detail, entry.languages, entry.where)
    reading = {"format": "moses", "encoding": "utf-8"}
    yield _input(entry, paths, tuple(PurePosixPath(path).name for path in paths), reading)


_SOURCES: dict[str, Callable[[Entry], Iterator[Input]]] = {
    FILES: _files,
    URL: _url,
    "mtdata": _mtdata,
    "sacrebleu": _sacrebleu,
}


def _input(
    entry: Entry,
    paths: tuple[Path, ...],
    names: tuple[str, ...],
    known: dict[str, Any] | None = None,
) -> Input:
    """Join what is said of the reading: by all corpora, by the source, by the entry."""
    reading = entry.corpus.with_reading(replace(entry.fetch.reading, **(known or {})))
    return Input(
        paths=paths, names=names, reading=reading, languages=entry.languages, section=entry.where
    )


def _starter(entry: Entry, metrics: dict[str, Any]) -> Iterator[Piece]:
    part, corpus = entry.corpus.detail, entry.corpus.name
    if part == "everyday":
        rows = make_everyday(entry.fetch.everyday)
        for split in SPLITS:
            yield _made(corpus, split, rows[split])
        return
    if part == "glosses":
        made, glosses = collect_glosses()
        metrics["glosses"] = {"kept": len(glosses.pairs), "skipped": glosses.skipped}
    else:
        made = load_hsk()
    yield _made(corpus, entry.corpus.role or str(STARTER[part]), made)


def _made(corpus: str, role: str, rows: list[Row]) -> Piece:
    return Piece(corpus=corpus, role=role, name=f"{corpus}.{role}.tsv", rows=tuple(rows))
