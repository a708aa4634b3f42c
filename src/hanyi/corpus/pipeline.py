"""From raw tables to clean, split, leak-free ones, block by block."""

from __future__ import annotations

import logging
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet

from hanyi.artifacts import atomic_directory, write_header
from hanyi.corpus.cleaning.cleaner import KEPT, Cleaned, Cleaner, rule_names
from hanyi.corpus.cleaning.config import PrepareConfig
from hanyi.corpus.cleaning.rules import REPAIRS
from hanyi.corpus.decisions import FATES, Decisions, Traces
from hanyi.corpus.funnel import Funnel
from hanyi.corpus.pairs import SIDES, SPLITS, Part, read_list
from hanyi.corpus.spool import CLEANED, Spool
from hanyi.corpus.tables import PAIRS, REJECTED, TableWriter
from hanyi.corpus.workers import ordered
from hanyi.errors import DataError
from hanyi.languages import Languages
from hanyi.progress import progress

log = logging.getLogger("hanyi.corpus")

REJECTED_FILE = "rejected.parquet"
CORPORA = "corpora.json"
KIND, VERSION = "hanyi.prepared", 1

Ids = NDArray[np.int64]


def prepare(
    raw: Path, directory: Path, config: PrepareConfig, languages: Languages, workers: int
) -> Funnel:
    """Publish the tables of `data/prepared/`, whole or not at all; give the funnel.

    Memory grows with the number of rows by a few bytes each, never with their text. The bytes
    written depend on the raw tables and the parameters alone. Raises `DataError` when nothing is
    left in a split, a corpus is too small to be split, or the columns are swapped.
    """
    parts = read_list(raw)
    names = rule_names(config.rules)
    repairs = [name for name, rule in zip(names, config.rules, strict=True) if rule.rule in REPAIRS]
    funnel = Funnel(names, repairs)
    with atomic_directory(directory) as temporary:
        work = temporary / "work"
        work.mkdir()
        with TableWriter(temporary / REJECTED_FILE, REJECTED) as rejected:
            spool = Spool(work / "cleaned.arrow", CLEANED)
            decisions = Decisions(parts, config, work, workers)
            sinks = _Sinks(names, funnel, rejected, spool, decisions)
            _clean(_jobs(raw, parts), Cleaner(config.rules, languages), workers, sinks)
            check_sides(parts, funnel)
            decisions.decide()
            _write(temporary, parts, workers, sinks)
        _write_corpora(temporary, parts)
        check_filled(raw, funnel)
        shutil.rmtree(work)
    return funnel


@dataclass(frozen=True)
class _Sinks:
    """Where rows go, and the names of the rules."""

    names: list[str]
    funnel: Funnel
    rejected: TableWriter
    spool: Spool
    decisions: Decisions
    aside: list[tuple[Ids, pa.RecordBatch]] = field(default_factory=list)

    def reject(self, part: Part, reason: str, ids: Ids, rows: pa.RecordBatch) -> None:
        """Put rows of a block, which has the columns of `REJECTED` but the reason, aside."""
        columns = [rows.column(name) for name in REJECTED.names[:-1]]
        reasons = pa.array([reason]).take(pa.array(np.zeros(rows.num_rows, np.int32)))
        block = pa.RecordBatch.from_arrays([*columns, reasons], schema=REJECTED)
        self.funnel.add_rejected(part.corpus, part.role, reason, ids, block)
        self.aside.append((ids, block))

    def end_block(self) -> None:
        """Write what a block had to put aside, in reading order: so its size leaves no trace."""
        if self.aside:
            ids, blocks = zip(*self.aside, strict=True)
            order = pa.array(np.argsort(np.concatenate(ids)))
            rows = pa.Table.from_batches(blocks).take(order).combine_chunks()
            self.rejected.write(*rows.to_batches())
            self.aside.clear()


@dataclass(frozen=True)
class _Job:
    """One row group of a raw table, the part of that number; `first` is the id of its first row."""

    number: int
    part: Part
    path: Path
    group: int
    first: int
    rows: int


@dataclass(frozen=True)
class _Done:
    job: _Job
    rows: pa.RecordBatch  # as read
    whole: NDArray[np.int64]  # numbers of the rows that are pairs
    cleaned: Cleaned
    traces: Traces


def _jobs(raw: Path, parts: list[Part]) -> list[_Job]:
    jobs: list[_Job] = []
    first = 0
    for number, part in enumerate(parts):
        path = raw / part.path
        with parquet.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                jobs.append(_Job(number, part, path, group, first, rows))
                first += rows
    return jobs


def _clean(jobs: list[_Job], cleaner: Cleaner, workers: int, sinks: _Sinks) -> None:
    """Apply the rules to every row; spool what is left."""

    def work(job: _Job) -> _Done:
        with parquet.ParquetFile(job.path) as file:
            [rows] = file.read_row_group(job.group, use_threads=False).combine_chunks().to_batches()
        whole = np.flatnonzero(np.asarray(pc.is_null(rows["fault"])))
        pairs = rows if len(whole) == rows.num_rows else rows.take(pa.array(whole))
        given = job.part.role in {"valid", "test"}
        cleaned = cleaner.clean(pairs["src"], pairs["tgt"], given=given)
        return _Done(job, rows, whole, cleaned, sinks.decisions.traces(cleaned.src, cleaned.tgt))

    with progress("clean", sum(job.rows for job in jobs), "rows") as advance:
        for done in ordered(work, jobs, workers):
            _sort_out(done, sinks)
            sinks.end_block()
            advance(done.rows.num_rows)
    sinks.spool.finish()


def _sort_out(done: _Done, sinks: _Sinks) -> None:
    """Put the rejected rows of a block aside, as they were read, and spool the others."""
    part, rows, cleaned = done.job.part, done.rows, done.cleaned
    ids = np.arange(done.job.first, done.job.first + rows.num_rows)
    sinks.funnel.add_read(part.corpus, part.role, rows.num_rows)
    if len(done.whole) < rows.num_rows:
        faults = rows["fault"]
        for fault in pc.unique(faults.drop_null()).to_pylist():
            chosen = np.flatnonzero(np.asarray(pc.equal(faults, fault).fill_null(False)))
            sinks.reject(part, fault, ids[chosen], rows.take(pa.array(chosen)))
    ids = ids[done.whole]
    for change in cleaned.repaired:
        sinks.funnel.add_repaired(
            sinks.names[change.rule], change.side, ids[change.rows], change.before, change.after
        )
    for number in np.unique(cleaned.rejected[cleaned.rejected != KEPT]):
        chosen = np.flatnonzero(cleaned.rejected == number)
        original = rows.take(pa.array(done.whole[chosen]))
        sinks.reject(part, sinks.names[number], ids[chosen], original)
    kept = np.flatnonzero(cleaned.rejected == KEPT)
    if not len(kept):
        return
    sinks.decisions.add(done.job.number, done.traces, kept)
    places = pa.array(done.whole[kept])
    columns = [rows["file"].take(places), rows["line"].take(places)]
    texts = [cleaned.src.take(pa.array(kept)), cleaned.tgt.take(pa.array(kept))]
    arrays = [pa.array(ids[kept]), *columns, *texts]
    sinks.spool.write(pa.RecordBatch.from_arrays(arrays, schema=CLEANED))


def _write(directory: Path, parts: list[Part], workers: int, sinks: _Sinks) -> None:
    """Write each row that is left into the table of its split, and put the others aside."""
    decisions, spool = sinks.decisions, sinks.spool
    with ExitStack() as stack:
        writers = [
            stack.enter_context(TableWriter(directory / f"{split}.parquet", PAIRS))
            for split in SPLITS
        ]
        advance = stack.enter_context(progress("write", len(decisions.fates), "rows"))
        blocks = spool.blocks()
        for number, rows in zip(blocks, ordered(spool.read, blocks, workers), strict=True):
            part = parts[decisions.part_of[number]]
            _write_block(rows, part, decisions.fates[spool.places(number)], writers, sinks)
            sinks.end_block()
            advance(rows.num_rows)


def _write_block(
    rows: pa.RecordBatch,
    part: Part,
    fates: NDArray[np.uint8],
    writers: list[TableWriter],
    sinks: _Sinks,
) -> None:
    for fate in np.unique(fates):
        some = rows.filter(pa.array(fates == fate))
        if fate >= len(SPLITS):
            sinks.reject(part, FATES[fate], some["id"].to_numpy(), some)
            continue
        columns = [some["id"], pa.repeat(part.corpus, len(some)), some["src"], some["tgt"]]
        writers[fate].write(pa.RecordBatch.from_arrays(columns, schema=PAIRS))
        sinks.funnel.add_kept(part.corpus, SPLITS[fate], len(some))
        for side in SIDES:
            sinks.funnel.sizes.add(SPLITS[fate], side, some[side])


def _write_corpora(directory: Path, parts: list[Part]) -> None:
    weights = {part.corpus: part.weight for part in parts}
    corpora = [{"name": name, "weight": weight} for name, weight in sorted(weights.items())]
    write_header(directory / CORPORA, KIND, VERSION, {"corpora": corpora})


def check_sides(parts: list[Part], funnel: Funnel) -> None:
    """Raise `DataError` when most rows of a part have the languages the wrong way round."""
    for part in parts:
        swapped = funnel.rejected[part.corpus, part.role, "swapped"]
        if 2 * swapped > funnel.read[part.corpus, part.role]:
            raise DataError(
                f"corpus {part.corpus}, {part.role}", f"the languages swapped in {swapped} rows",
                "source and target as `languages` says",
                "swap src_column and tgt_column, or languages.src and languages.tgt",
            )  # fmt: skip


def check_filled(raw: Path, funnel: Funnel) -> None:
    """Raise `DataError` when a split is left without rows."""
    read, kept = funnel.read.total(), funnel.kept.total()
    if not kept:
        raise DataError(
            raw, f"all of {read} rows rejected ({funnel.reasons()})", "some to keep",
            "set the columns of fetch right or loosen prepare.rules",
        )  # fmt: skip
    for split in SPLITS:
        if not funnel.split(split):
            remedy = (
                "fetch more rows" if split == "train" else f"set prepare.split.{split} or a file"
            )
            found = (
                f"no rows left for {split} ({kept} kept; rejected: {funnel.reasons() or 'none'})"
            )
            raise DataError(raw, found, "at least one", remedy)
