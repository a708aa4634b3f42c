"""Translate the test split: one line for each row, in order of id."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from hanyi.artifacts import DECODED as HEADER
from hanyi.artifacts import METRIC_DIGITS, atomic_directory, digest_path, write_header
from hanyi.decoding.config import DecodeConfig
from hanyi.decoding.loading import Loaded, load_engine
from hanyi.decoding.registry import KINDS, choose_engine
from hanyi.decoding.texts import Row, Source, Translation, explain
from hanyi.decoding.wishes import Wishes
from hanyi.errors import HanyiError
from hanyi.model.devices import DEVICE_VARIABLE, pick_device, prepare_torch
from hanyi.model.processes import Processes, cores, join
from hanyi.params import load_section
from hanyi.progress import Advance, progress
from hanyi.tokens.identity import check_ids
from hanyi.tokens.prepared import count_rows, read_blocks
from hanyi.tracking import Tracker
from stages.harness import device_option, run
from stages.paths import DECODED, PREPARED, TOKENIZERS, TRANSFORMER

log = logging.getLogger("hanyi.decode")

TEST = PREPARED / "test.parquet"
MOST_PROCESSES = 8  # by default; each holds the model
ROWS_WORTH_A_PROCESS = 200  # at fewer, its start costs more than it saves

# JSON leaves these as they are, but some readers end a line there.
LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is translated, and by what."""

    ids: list[int]  # of the rows, in order
    texts: list[str]
    digests: dict[str, Any]


def main(_: Tracker) -> dict[str, Any]:
    """Decode and publish; give the counts."""
    device = pick_device()
    with join(device) as processes:
        return _decode(device, processes)


def default_processes() -> int:
    """Give one process for each core where the CPU translates and the rows are worth it.

    Several processes of one thread each are faster than one of several threads, whose parts of
    each small product wait for one another. `OMP_NUM_THREADS` asks for one process.
    """
    alone = "OMP_NUM_THREADS" in os.environ or sys.platform != "linux"
    device = pick_device()
    if alone or device.type != "cpu":
        return 1
    if KINDS[choose_engine(load_section("decode", DecodeConfig), device)].parallel:
        return 1
    try:
        rows = count_rows(TEST)
    except HanyiError:  # which the stage itself tells
        return 1
    return max(1, min(cores(), MOST_PROCESSES, rows // ROWS_WORTH_A_PROCESS))


def _decode(device: torch.device, processes: Processes) -> dict[str, Any]:
    settings = load_section("decode", DecodeConfig)
    prepare_torch()
    loaded = load_engine(TRANSFORMER, TOKENIZERS, settings, device, processes)
    engine, name = loaded.engine, loaded.name
    inputs = _read(loaded)
    processes.require_same((settings, inputs.digests), "decode")

    sources = engine.read(inputs.texts)
    if processes.first:
        _tell(sources, engine.max_tokens, engine.wishes)
    log.info(
        "%d rows, engine %s, %s, %d processes", len(sources), name, _how(settings), processes.count
    )
    began = time.monotonic()
    with _progress(sources, processes) as advance:
        rows = engine.translate(
            sources, settings, numbers=inputs.ids, report=advance, processes=processes
        )
    log.info("%.1f rows a second", len(rows) / (time.monotonic() - began))
    lines = [_fields(row, settings) for row in rows]
    if settings.token_log_probs or settings.alignment:
        told = _explain(loaded, settings, sources, rows, processes)
        lines = [line | more for line, more in zip(lines, told, strict=True)]
    if processes.first:
        made = {"engine": name, "quantization": settings.quantization, "rows": len(rows)}
        _write(inputs.ids, lines, {**inputs.digests, **made})
    return _metrics(rows)


def _read(loaded: Loaded) -> Inputs:
    check_ids(TEST)
    rows: list[tuple[int, str]] = []
    for block in read_blocks(TEST, ["id", "src"]):
        rows += zip(*(column.to_pylist() for column in block.columns), strict=True)
    rows.sort()
    digests = {
        "test": digest_path(TEST),
        "models": [one.weights for one in loaded.described],
        "src_tokenizer": loaded.engine.src.digest,
        "tgt_tokenizer": loaded.engine.tgt.digest,
    }
    return Inputs([number for number, _ in rows], [text for _, text in rows], digests)


def _how(settings: DecodeConfig) -> str:
    if settings.method == "sample":
        return f"{settings.n_best} samples each"
    return f"beam size {settings.beam_size}"


def _tell(sources: Sequence[Source], most: int, wishes: Wishes) -> None:
    parts = [len(source.parts) for source in sources if len(source.parts) > 1]
    if parts:
        log.warning(
            "%d rows have more than the %d tokens of a sentence in training: "
            "they are translated in %d parts and joined",
            len(parts),
            most,
            sum(parts),
        )
    if unused := wishes.unused(source.text for source in sources):
        log.warning(
            "decode.terms: no row holds %s; terms are looked for as they stand, in sources as "
            "`prepare` repaired them",
            ", ".join(unused),
        )


def _progress(
    sources: Sequence[Source], processes: Processes
) -> AbstractContextManager[Advance | None]:
    parts = sum(len(source.parts) for source in sources)
    return progress("decode", parts, "sentences") if processes.first else nullcontext()


def _explain(
    loaded: Loaded,
    settings: DecodeConfig,
    sources: Sequence[Source],
    rows: Sequence[Row],
    processes: Processes,
) -> list[dict[str, Any]]:
    """Give what a second pass over the chosen translations tells of each row."""
    explained = explain(
        loaded.model,
        sources,
        rows,
        tokens=settings.batch_tokens,
        alignment=settings.alignment,
        processes=processes,
    )
    told: list[dict[str, Any]] = [{} for _ in rows]
    for source, forced, fields in zip(sources, explained, told, strict=True):
        if settings.token_log_probs:
            fields["token_log_probs"] = [round(one, METRIC_DIGITS) for one in forced.log_probs]
        if settings.alignment:
            fields["alignment"] = forced.alignment
            fields["src_tokens"] = [token for ids in source.ids for token in ids]
    return told


def _write(ids: Sequence[int], lines: Sequence[dict[str, Any]], index: dict[str, Any]) -> None:
    with atomic_directory(DECODED) as directory:
        path = directory / "test.jsonl"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for number, fields in zip(ids, lines, strict=True):
                text = json.dumps({"id": number, **fields}, ensure_ascii=False)
                file.write(text.translate(LINE_ENDS) + "\n")
        write_header(directory / "index.json", *HEADER, index)


def _fields(row: Row, settings: DecodeConfig) -> dict[str, Any]:
    fields = _translation(row.best)
    if row.parts > 1:
        fields["parts"] = row.parts
    if row.unmet:
        fields["unmet_terms"] = row.unmet
    if settings.n_best > 1:
        fields["n_best"] = [_translation(one) for one in row.n_best]
    return fields


def _translation(one: Translation) -> dict[str, Any]:
    return {
        "text": one.text,
        "log_prob": round(one.log_prob, METRIC_DIGITS),
        "tokens": one.tokens,
        "finished": one.finished,
    }


def _metrics(rows: Sequence[Row]) -> dict[str, Any]:
    finished = sum(row.best.finished for row in rows)
    parts = [row.parts for row in rows if row.parts > 1]
    return {
        "rows": len(rows),
        "finished": finished,
        "cut": len(rows) - finished,
        "empty": sum(not row.best.tokens for row in rows),
        "mean_tokens": sum(len(row.best.tokens) for row in rows) / max(len(rows), 1),
        "split": {"rows": len(parts), "parts": sum(parts)},
        "terms": {
            "asked": sum(len(row.terms) for row in rows),
            "unmet": sum(len(row.unmet) for row in rows),
        },
    }


if __name__ == "__main__":
    device_option(__doc__, DEVICE_VARIABLE)
    run("decode", main, default_processes)
