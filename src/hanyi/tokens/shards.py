"""Encoded splits on disk: Arrow files that are mapped, never read as a whole, and their index."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hanyi.artifacts import digest_file, read_header, write_header
from hanyi.errors import ArtifactError
from hanyi.tokens.flat import Flat

log = logging.getLogger("hanyi.tokens")

KIND, VERSION = "hanyi.encoded", 2
INDEX = "index.json"
REMEDY = "run `dvc repro encode`"

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("corpus", pa.uint8(), nullable=False),
        pa.field("src", pa.list_(pa.field("item", pa.uint16(), nullable=False)), nullable=False),
        pa.field("tgt", pa.list_(pa.field("item", pa.uint16(), nullable=False)), nullable=False),
    ]
)

Ids = NDArray[np.uint16]


def encoded_rows(
    ids: Sequence[int] | pa.Array, corpus: Sequence[int] | pa.Array, src: Flat, tgt: Flat
) -> pa.RecordBatch:
    """Make a block of rows: `corpus` numbers the names, the sides are ids without specials."""
    numbers = [pa.array(ids, pa.int64()), pa.array(corpus, pa.uint8())]
    return pa.RecordBatch.from_arrays([*numbers, _lists(src), _lists(tgt)], schema=SCHEMA)


def _lists(rows: Flat) -> pa.ListArray:
    offsets = np.zeros(len(rows.lengths) + 1, np.int32)
    np.cumsum(rows.lengths, out=offsets[1:])
    kind = SCHEMA.field("src").type
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(rows.ids), type=kind)


def write_shards(
    directory: Path,
    blocks: Iterable[pa.RecordBatch],
    *,
    shard_rows: int,
    fields: Mapping[str, Any],
) -> dict[str, Any]:
    """Write blocks of rows as few large shards, and their index, which it gives.

    `directory` exists and is empty. `fields` joins the index: corpora and their weights, digests
    and sizes of the tokenizers, counts; it is read after the last block, so it may be filled until
    then.
    """
    files: list[dict[str, Any]] = []
    waiting: list[pa.RecordBatch] = []
    room = shard_rows
    for block in blocks:
        rest = block
        while rest.num_rows >= room:
            files.append(_write_shard(directory, len(files), [*waiting, rest.slice(0, room)]))
            rest, waiting, room = rest.slice(room), [], shard_rows
        waiting.append(rest)
        room -= rest.num_rows
    if room < shard_rows or not files:
        files.append(_write_shard(directory, len(files), waiting))
    totals = ("rows", "src_tokens", "tgt_tokens")
    index = {**fields, "files": files} | {key: sum(file[key] for file in files) for key in totals}
    write_header(directory / INDEX, KIND, VERSION, index)
    return index


def _write_shard(directory: Path, number: int, blocks: Sequence[pa.RecordBatch]) -> dict[str, Any]:
    # One record batch a file: each column is then one buffer, and a row one slice of it. Built
    # anew, for slices and joined blocks keep traces of how they came about (bitmaps, padding).
    table = pa.Table.from_batches(blocks, schema=SCHEMA)
    src, tgt = _joined_lists(table["src"]), _joined_lists(table["tgt"])
    plain = [pa.array(table[name].to_numpy()) for name in ("id", "corpus")]
    batch = pa.RecordBatch.from_arrays([*plain, src, tgt], schema=SCHEMA)
    path = directory / f"{number:05d}.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
        writer.write_batch(batch)
    log.info("%s/%s: %d rows", directory.name, path.name, batch.num_rows)
    return {
        "path": path.name,
        "rows": batch.num_rows,
        "bytes": path.stat().st_size,
        "digest": digest_file(path),
        "src_tokens": len(src.values),
        "tgt_tokens": len(tgt.values),
    }


def _joined_lists(column: pa.ChunkedArray) -> pa.ListArray:
    lengths = pc.list_value_length(column).to_numpy()
    return _lists(Flat(lengths, pc.list_flatten(column).to_numpy()))


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of one shard: row i is `values[offsets[i]:offsets[i + 1]]`, on the mapped file."""

    offsets: NDArray[np.int32]
    values: Ids

    @classmethod
    def of(cls, column: Any) -> _Side:
        offsets = column.offsets.to_numpy(zero_copy_only=True)
        return cls(offsets, column.values.to_numpy(zero_copy_only=True))

    def row(self, row: int) -> Ids:
        return self.values[self.offsets[row] : self.offsets[row + 1]]


@dataclass(frozen=True, slots=True)
class EncodedSplit:
    """The rows of one split as token ids without special tokens, mapped from disk.

    `ids` and `corpus` (numbers into `corpora`) are `[rows]`, `src_lengths` and `tgt_lengths` are
    `[rows]` in tokens; `weights` says of each corpus how often its rows occur in an epoch;
    `src_tokenizer` and `tgt_tokenizer` are digests, `digest` stands for all the content.
    """

    directory: Path
    corpora: tuple[str, ...]
    weights: tuple[float, ...]
    ids: NDArray[np.int64]
    corpus: NDArray[np.uint8]
    src_lengths: NDArray[np.int32]
    tgt_lengths: NDArray[np.int32]
    src_vocab: int
    tgt_vocab: int
    src_tokenizer: str
    tgt_tokenizer: str
    digest: str
    index: Mapping[str, Any]
    _starts: NDArray[np.int64]
    _src: tuple[_Side, ...]
    _tgt: tuple[_Side, ...]

    @classmethod
    def open(cls, directory: Path) -> EncodedSplit:
        """Map a split's shards; raise `ArtifactError` when one is missing, broken or foreign.

        The whole digest of each file is checked: about two seconds for a gigabyte, once.
        """
        index = read_header(directory / INDEX, KIND, VERSION)
        try:
            batches = [_map_shard(directory, file) for file in index["files"]]
            starts = np.cumsum([0, *(file["rows"] for file in index["files"])])
            src = tuple(_Side.of(batch.column("src")) for batch in batches)
            tgt = tuple(_Side.of(batch.column("tgt")) for batch in batches)
            return cls(
                directory=directory,
                corpora=tuple(index["corpora"]),
                weights=tuple(float(index["weights"][name]) for name in index["corpora"]),
                ids=_joined([batch.column("id").to_numpy() for batch in batches]),
                corpus=_joined([batch.column("corpus").to_numpy() for batch in batches]),
                src_lengths=_joined([np.diff(side.offsets) for side in src]),
                tgt_lengths=_joined([np.diff(side.offsets) for side in tgt]),
                src_vocab=int(index["src_vocab"]),
                tgt_vocab=int(index["tgt_vocab"]),
                src_tokenizer=str(index["src_tokenizer"]),
                tgt_tokenizer=str(index["tgt_tokenizer"]),
                digest=digest_file(directory / INDEX),
                index=index,
                _starts=starts.astype(np.int64),
                _src=src,
                _tgt=tgt,
            )
        except (KeyError, TypeError) as error:
            raise ArtifactError(
                directory / INDEX, f"no usable {error}", "an index of this version", REMEDY
            ) from None

    @property
    def rows(self) -> int:
        """Give the number of rows."""
        return len(self.ids)

    def src(self, row: int) -> Ids:
        """Give the source tokens of a row, `[src_len]`, a read-only view of the mapped file."""
        shard, local = self._locate(row)
        return self._src[shard].row(local)

    def tgt(self, row: int) -> Ids:
        """Give the target tokens of a row, `[tgt_len]`, a read-only view of the mapped file."""
        shard, local = self._locate(row)
        return self._tgt[shard].row(local)

    def src_flat(self, rows: NDArray[np.int64]) -> Ids:
        """Give the source tokens of rows one after another; `src_lengths[rows]` parts them."""
        return self._flat(self._src, rows, self.src_lengths)

    def tgt_flat(self, rows: NDArray[np.int64]) -> Ids:
        """Give the target tokens of rows one after another; `tgt_lengths[rows]` parts them."""
        return self._flat(self._tgt, rows, self.tgt_lengths)

    def _flat(
        self, sides: Sequence[_Side], rows: NDArray[np.int64], lengths: NDArray[np.int32]
    ) -> Ids:
        shards = np.searchsorted(self._starts, rows, side="right") - 1
        counts = lengths[rows].astype(np.int64)
        ends = np.cumsum(counts)
        within = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
        flat = np.empty(len(within), np.uint16)
        for shard in np.unique(shards):
            here = shards == shard
            begins = sides[shard].offsets[rows[here] - self._starts[shard]]
            wanted = np.repeat(here, counts)
            flat[wanted] = sides[shard].values[np.repeat(begins, counts[here]) + within[wanted]]
        return flat

    def _locate(self, row: int) -> tuple[int, int]:
        if not 0 <= row < len(self.ids):
            raise IndexError(f"row {row} of {len(self.ids)}")
        if len(self._src) == 1:
            return 0, row
        shard = int(np.searchsorted(self._starts, row, side="right")) - 1
        return shard, row - int(self._starts[shard])

    def require_tokenizers(self, src: str, tgt: str) -> None:
        """Raise `ArtifactError` unless the split was encoded by the tokenizers of these digests."""
        for side, found, expected in (
            ("src", self.src_tokenizer, src),
            ("tgt", self.tgt_tokenizer, tgt),
        ):
            if found != expected:
                raise ArtifactError(
                    self.directory / INDEX,
                    f"tokens of {side} tokenizer {found[:8]}",
                    f"those of {expected[:8]}",
                    "the artifacts are mixed: " + REMEDY,
                )


def _map_shard(directory: Path, file: Mapping[str, Any]) -> Any:
    path = directory / file["path"]
    if not path.is_file():
        raise ArtifactError(path, "no such file", f"a shard of {file['rows']} rows", REMEDY)
    if path.stat().st_size != file["bytes"] or digest_file(path) != file["digest"]:
        raise ArtifactError(
            path,
            "a broken or foreign file",
            f"the digest {file['digest'][:8]} of its index",
            REMEDY,
        )
    try:
        batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    except pa.ArrowInvalid as error:
        raise ArtifactError(path, f"no Arrow file ({error})", "a shard", REMEDY) from None
    if batch.schema != SCHEMA or batch.num_rows != file["rows"]:
        raise ArtifactError(path, "other columns or rows", "those of its index", REMEDY)
    return batch


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
