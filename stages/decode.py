"""Translate the test split by beam search: one line for each row, in order of id."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from hanyi.artifacts import METRIC_DIGITS, atomic_directory, read_header
from hanyi.decoding.config import DecodeConfig
from hanyi.decoding.engine import translate_ids
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.model.devices import DEVICE_VARIABLE, pick_device, prepare_torch
from hanyi.model.processes import Processes, cores, join
from hanyi.model.storage import load_model
from hanyi.params import load_section
from hanyi.progress import Advance, progress
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.shards import KIND, VERSION, EncodedSplit
from hanyi.tracking import Tracker
from stages.harness import device_option, run
from stages.paths import DECODED, ENCODED, TOKENIZERS, TRANSFORMER

log = logging.getLogger("hanyi.decode")

MOST_PROCESSES = 8  # by default; each holds the model
ROWS_WORTH_A_PROCESS = 200  # at fewer, its start costs more than it saves

# JSON leaves these as they are, but some readers end a line there.
LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


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
    index = ENCODED / "test" / "index.json"
    alone = "OMP_NUM_THREADS" in os.environ or sys.platform != "linux"
    if alone or not index.exists() or pick_device().type != "cpu":
        return 1
    rows = int(read_header(index, KIND, VERSION)["rows"])
    return max(1, min(cores(), MOST_PROCESSES, rows // ROWS_WORTH_A_PROCESS))


def _decode(device: torch.device, processes: Processes) -> dict[str, Any]:
    settings = load_section("decode", DecodeConfig)
    prepare_torch()
    src = Tokenizer.load(TOKENIZERS / "src.json")
    tgt = Tokenizer.load(TOKENIZERS / "tgt.json")
    split = EncodedSplit.open(ENCODED / "test")
    split.require_tokenizers(src.digest, tgt.digest)
    model, described = load_model(TRANSFORMER, device)
    described.require_tokenizers(TRANSFORMER, src.digest, tgt.digest)
    processes.require_same((settings, split.digest, described.weights), "decode")

    order = split.ids.argsort(kind="stable").tolist()
    sources = [split.src(row).tolist() for row in order]
    log.info(
        "%d rows, beam size %d, %d processes", len(sources), settings.beam_size, processes.count
    )
    with _progress(len(sources), processes) as advance:
        found = translate_ids(
            model,
            sources,
            settings,
            tokens=settings.batch_tokens,
            report=advance,
            processes=processes,
        )
    if processes.first:
        _write([int(split.ids[row]) for row in order], found, tgt, settings.n_best)
    return _metrics([hypotheses[0] for hypotheses in found])


def _progress(rows: int, processes: Processes) -> AbstractContextManager[Advance | None]:
    return progress("decode", rows, "rows") if processes.first else nullcontext()


def _write(
    ids: Sequence[int], found: Sequence[Sequence[Hypothesis]], tgt: Tokenizer, n_best: int
) -> None:
    with atomic_directory(DECODED) as directory:
        path = directory / "test.jsonl"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for number, hypotheses in zip(ids, found, strict=True):
                row = {"id": number, **_fields(hypotheses[0], tgt)}
                if n_best > 1:
                    row["n_best"] = [_fields(one, tgt) for one in hypotheses]
                file.write(json.dumps(row, ensure_ascii=False).translate(LINE_ENDS) + "\n")


def _fields(hypothesis: Hypothesis, tgt: Tokenizer) -> dict[str, Any]:
    return {
        "text": tgt.decode(hypothesis.tokens),
        "log_prob": round(hypothesis.log_prob, METRIC_DIGITS),
        "tokens": hypothesis.tokens,
        "finished": hypothesis.finished,
    }


def _metrics(best: Sequence[Hypothesis]) -> dict[str, Any]:
    finished = sum(one.finished for one in best)
    return {
        "rows": len(best),
        "finished": finished,
        "cut": len(best) - finished,
        "empty": sum(not one.tokens for one in best),
        "mean_tokens": sum(len(one.tokens) for one in best) / max(len(best), 1),
    }


if __name__ == "__main__":
    device_option(__doc__, DEVICE_VARIABLE)
    run("decode", main, default_processes)
