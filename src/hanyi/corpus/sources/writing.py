"""Pieces of a corpus, read and written at the same time into one table."""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from hanyi.corpus.sources.pieces import Piece
from hanyi.corpus.tables import RAW, TableWriter

log = logging.getLogger("hanyi.corpus")

BLOCKS_AHEAD = 2
"""Blocks that may wait for the thread that writes: more would hold memory and win nothing."""

SECONDS_BETWEEN_LINES = 5.0


def write_part(path: Path, pieces: Iterable[Piece], faults: Counter[str]) -> int:
    """Write pieces in order as one table of schema `RAW`; give its rows and count their faults.

    A thread packs and writes blocks while the next ones are read, in the order of reading, so the
    bytes do not depend on which is faster.
    """
    with TableWriter(path, RAW) as table:
        with ThreadPoolExecutor(max_workers=1) as pool:
            waiting: deque[Future[None]] = deque()
            for block in _named(pieces, faults):
                waiting.append(pool.submit(table.write, block))
                if len(waiting) > BLOCKS_AHEAD:
                    waiting.popleft().result()
            for last in waiting:
                last.result()
        return table.rows


def _named(pieces: Iterable[Piece], faults: Counter[str]) -> Iterator[pa.RecordBatch]:
    """Put the name of its file before each row; tell how far the reading is every few seconds."""
    for piece in pieces:
        rows, broken, told = 0, 0, time.monotonic()
        for block in piece.read():
            rows += block.num_rows
            if found := block.num_rows - block.column("fault").null_count:
                broken += found
                faults.update(block.column("fault").drop_null().to_pylist())
            if time.monotonic() - told > SECONDS_BETWEEN_LINES:
                told = time.monotonic()
                log.info("%s: %d rows so far", piece.name, rows)
            names = pa.repeat(pa.scalar(piece.name, pa.string()), block.num_rows)
            yield pa.RecordBatch.from_arrays([names, *block.columns], schema=RAW)
        log.info("%s.%s: %s: %d rows, %d of them no pairs",
                 piece.corpus, piece.role, piece.name, rows, broken)  # fmt: skip
