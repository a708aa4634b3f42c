"""What each system is asked to translate, handed to its runner as a file of JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.task import Handed, Task, read_lines

Ids = Sequence[int]
FIRST = 16  # sentences that are translated before the clock starts


@dataclass(frozen=True)
class DecodeTask(Handed):
    """One translation to be measured."""

    home: str  # a workspace of ours: data/prepared/test.parquet, models/
    sources: str  # the same sentences as lines of ids of our tokenizer, no special ones
    variant: str  # which way to run the system, where it has several
    beam: int
    sentences: int  # in a batch; 1: one after the other
    length: int  # tokens of each translation, whatever it says; 0: until its end, as ours
    threads: int
    dropout: float = 0.0

    def lines(self) -> list[list[int]]:
        """Give the sources."""
        return read_lines(Path(self.sources))

    def limit(self, source: Ids) -> int:
        """Give the most tokens of a translation, its end counted."""
        return self.length or 2 * len(source) + 10

    def batches(self, sources: Sequence[Ids]) -> list[list[int]]:
        """Put the numbers of sources together by length, longest first."""
        order = sorted(range(len(sources)), key=lambda row: -len(sources[row]))
        size = self.sentences
        return [order[start : start + size] for start in range(0, len(order), size)]

    def training(self) -> Task:
        """Give the shortest training of a model of these sizes, for systems that need a file."""
        corpus = Path(self.folder, "corpus")
        corpus.mkdir()
        lines = self.lines()
        for name in ("train", "valid"):
            for side, size in (("src", self.src_vocab), ("tgt", self.tgt_vocab)):
                rows = (" ".join(str(min(one, size - 1)) for one in line) + "\n" for line in lines)
                (corpus / f"{name}.{side}").write_text("".join(rows), encoding="utf-8")
        return Task(
            corpus=str(corpus),
            folder=self.folder,
            result=self.result,
            begun=time.time(),
            precision="fp32",
            src_vocab=self.src_vocab,
            tgt_vocab=self.tgt_vocab,
            d_model=self.d_model,
            d_ff=self.d_ff,
            heads=self.heads,
            layers=self.layers,
            batch_tokens=1000,
            warm_up=0,
            settle=0.0,
            updates=1,
            seconds=0.0,
        )

    def measure(
        self, version: str, translate: Callable[[list[list[int]]], Sequence[Ids] | None]
    ) -> None:
        """Translate a few sentences, then all by the clock; give what came out for the scores."""
        sources = self.lines()
        translate(sources[:FIRST])
        begun = time.perf_counter()
        found = translate(sources)
        self.finish(version, time.perf_counter() - begun, len(sources), found)

    def finish(
        self, version: str, seconds: float, rows: int, found: Sequence[Ids] | None = None
    ) -> None:
        """Leave the result; without `found` the translations mean nothing."""
        result = {
            "version": version,
            "seconds": seconds,
            "rows": rows,
            "translations": None if found is None else [list(one) for one in found],
        }
        Path(self.result).write_text(json.dumps(result), encoding="utf-8")
