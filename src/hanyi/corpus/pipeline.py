"""From raw files to clean, split, leak-free tables."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hanyi.artifacts import atomic_directory
from hanyi.corpus.cleaning import FILTERS, Filter, PrepareConfig, normaliser
from hanyi.corpus.formats import read_rows
from hanyi.corpus.funnel import Funnel
from hanyi.corpus.leaks import sentence_key
from hanyi.corpus.pairs import SPLITS, WHOLE, RawFile, read_list
from hanyi.corpus.splits import REMEDY, Keys, split_off
from hanyi.corpus.tables import PAIRS, REJECTED, write_table
from hanyi.errors import DataError

NO_KEYS: Keys = (b"", b"")
REJECTED_FILE = "rejected.parquet"


@dataclass(slots=True)
class Pair:
    """A row on its way: `split` is its file's role until the split is made, None once rejected.

    `id` is the row's position in reading order over all raw files.
    """

    id: int
    file: RawFile
    line: int
    src: str
    tgt: str
    split: str | None
    reason: str
    keys: Keys


def prepare(raw: Path, directory: Path, config: PrepareConfig) -> Funnel:
    """Publish the tables of `data/prepared/`, whole or not at all; give the funnel.

    Raises `DataError` when nothing is left in a split, or a corpus is too small to be split.
    """
    with no_collector():
        pairs = list(read_pairs(raw, config))
        split_corpora(pairs, config)
        remove_duplicates(pairs)
        remove_leaks(pairs)
        funnel = count(pairs)
        check_filled(raw, funnel)
        with atomic_directory(directory) as temporary:
            for split in SPLITS:
                write_table(
                    temporary / f"{split}.parquet",
                    PAIRS,
                    ((p.id, p.file.corpus, p.src, p.tgt) for p in pairs if p.split == split),
                )
            write_table(
                temporary / REJECTED_FILE,
                REJECTED,
                ((p.file.source, p.line, p.src, p.tgt, p.reason) for p in pairs if p.split is None),
            )
    return funnel


@contextmanager
def no_collector() -> Iterator[None]:
    """Suspend the collector: it would search millions of rows for cycles that are not there."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def read_pairs(raw: Path, config: PrepareConfig) -> Iterator[Pair]:
    """Yield every row of the raw files, normalised, the ones that fail a filter rejected.

    Rows that cannot be read keep their text as it is.
    """
    normal = normaliser(config.unicode)
    filters = [(reason, make(config)) for reason, make in FILTERS.items()]
    position = 0
    for file in read_list(raw):
        for line, src, tgt, fault in read_rows(raw, file):
            if fault is not None:
                yield Pair(position, file, line, src, tgt, None, fault, NO_KEYS)
            else:
                yield _clean(
                    Pair(position, file, line, normal(src), normal(tgt), file.role, "", NO_KEYS),
                    filters,
                )
            position += 1


def _clean(pair: Pair, filters: list[tuple[str, Filter]]) -> Pair:
    for reason, objects in filters:
        if objects(pair.src, pair.tgt):
            pair.split, pair.reason = None, reason
            return pair
    pair.keys = sentence_key(pair.src), sentence_key(pair.tgt)
    return pair


def split_corpora(pairs: list[Pair], config: PrepareConfig) -> None:
    """Divide the rows of files with role `all` into the splits that their corpus has no file for.

    Rows that would leak into a split that is given are rejected first, so that the splits made here
    come out as large as asked.
    """
    pools: dict[str, list[Pair]] = {}
    for pair in pairs:
        if pair.split == WHOLE:
            pools.setdefault(pair.file.corpus, []).append(pair)
    given = _sentences(pairs, "valid") | _sentences(pairs, "test")
    roles = {(pair.file.corpus, pair.file.role) for pair in pairs}
    for corpus, pool in pools.items():
        remove_duplicates(pool)
        _reject(pool, "leak", lambda pair: _shares(pair, given))
        left = [pair for pair in pool if pair.split is not None]
        wanted = {
            split: size
            for split, size in (("test", config.split.test), ("valid", config.split.valid))
            if (corpus, split) not in roles
        }
        if sum(wanted.values()) >= len(left):
            sizes = " and ".join(f"{size} for {split}" for split, size in wanted.items())
            found = f"{len(left)} rows left (rejected: {count(pairs).reasons() or 'none'})"
            raise DataError(f"corpus {corpus}", found, f"more than {sizes}", REMEDY)
        chosen = split_off(corpus, [pair.keys for pair in left], wanted, config.split.seed)
        for number, pair in enumerate(left):
            pair.split = chosen.get(number, "train")


def remove_duplicates(pairs: list[Pair]) -> None:
    """Reject a pair that its split already has; the first one in reading order stays."""
    seen: set[tuple[str, str, str]] = set()

    def repeated(pair: Pair) -> bool:
        entry = (str(pair.split), pair.src, pair.tgt)
        known = entry in seen
        seen.add(entry)
        return known

    _reject(pairs, "duplicate", repeated)


def remove_leaks(pairs: list[Pair]) -> None:
    """Reject valid rows with a sentence of test, then train rows with one of valid or test.

    Over all corpora, and whichever side the sentence stands on.
    """
    test = _sentences(pairs, "test")
    _reject(pairs, "leak", lambda pair: pair.split == "valid" and _shares(pair, test))
    held_out = test | _sentences(pairs, "valid")
    _reject(pairs, "leak", lambda pair: pair.split == "train" and _shares(pair, held_out))


def count(pairs: Iterable[Pair]) -> Funnel:
    """Count rows read, rejected and kept."""
    funnel = Funnel()
    for pair in pairs:
        corpus, role = pair.file.corpus, pair.file.role
        funnel.read[corpus, role] += 1
        if pair.split is None:
            funnel.rejected[corpus, role, pair.reason] += 1
        else:
            funnel.kept[corpus, pair.split] += 1
    return funnel


def check_filled(raw: Path, funnel: Funnel) -> None:
    """Raise `DataError` when a split is left without rows."""
    read, kept = funnel.read.total(), funnel.kept.total()
    if not kept:
        raise DataError(
            raw, f"all of {read} rows rejected ({funnel.reasons()})", "some to keep",
            "set the columns of fetch.files right or loosen the filters of prepare",
        )  # fmt: skip
    for split in SPLITS:
        if not funnel.split(split):
            remedy = (
                "fetch more rows" if split == "train" else f"set prepare.split.{split} or a file"
            )
            found = (
                f"no rows left for {split} ({kept} kept; rejected: {funnel.reasons() or 'none'})"
            )
            raise DataError(
                raw, found,
                "at least one", remedy,
            )  # fmt: skip


def _reject(pairs: Iterable[Pair], reason: str, objects: Callable[[Pair], bool]) -> None:
    for pair in pairs:
        if pair.split is not None and objects(pair):
            pair.split, pair.reason = None, reason


def _sentences(pairs: Iterable[Pair], split: str) -> set[bytes]:
    return {key for pair in pairs if pair.split == split for key in pair.keys}


def _shares(pair: Pair, sentences: set[bytes]) -> bool:
    return pair.keys[0] in sentences or pair.keys[1] in sentences
