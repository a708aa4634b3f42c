"""CTranslate2 called directly: one call for all sentences, a worker of one thread for each core."""

from __future__ import annotations

import sys
from pathlib import Path

import ctranslate2
import torch

from benchmarks.peers.decode_task import DecodeTask
from hanyi.decoding.conversion import convert
from hanyi.model.storage import load_model
from stages.paths import TRANSFORMER

POSITIONS = 1024


def main() -> None:
    """Convert and measure."""
    task = DecodeTask.read(sys.argv[1])
    model, _ = load_model(Path(task.home) / TRANSFORMER, torch.device("cpu"))
    convert(model, Path(task.folder), POSITIONS)
    # Several threads for one worker are slower for so small a model, and very slow with int8.
    translator = ctranslate2.Translator(
        task.folder,
        compute_type=task.variant,
        inter_threads=task.threads,
        intra_threads=1,
        max_queued_batches=-1,
    )

    def translate(sources: list[list[int]]) -> list[list[int]]:
        found = translator.translate_batch(
            [[str(number) for number in source] for source in sources],
            max_batch_size=task.sentences,
            beam_size=task.beam,
            length_penalty=1,
            min_decoding_length=0,
            max_decoding_length=max(map(task.limit, sources)),
        )
        return [[int(name) for name in one.hypotheses[0]] for one in found]

    task.measure(ctranslate2.__version__, translate)


if __name__ == "__main__":
    main()
