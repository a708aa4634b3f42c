"""What each system is asked to do, handed to its runner as a file of JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from typing_extensions import Self

SPECIALS = 4  # pad, unk, bos, eos: the first ids of both vocabularies


@dataclass(frozen=True)
class Handed:
    """What is said to the runner of any system, in a file."""

    folder: str  # empty, for what the system writes
    result: str  # file for what was measured
    src_vocab: int
    tgt_vocab: int
    d_model: int
    d_ff: int
    heads: int
    layers: int

    @classmethod
    def read(cls, path: str) -> Self:
        """Read a task."""
        return cls(**json.loads(Path(path).read_text(encoding="utf-8")))

    def write(self, path: Path) -> None:
        """Write a task for `read`."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


def read_lines(path: Path) -> list[list[int]]:
    """Give the ids of each line of a file."""
    text = path.read_text(encoding="utf-8")
    return [[int(number) for number in line.split()] for line in text.splitlines()]


@dataclass(frozen=True)
class Task(Handed):
    """One training to be measured. Sentences are lines of ids, the same for all systems."""

    corpus: str  # folder: train.src, train.tgt, valid.src, valid.tgt, and `home` for our own stages
    begun: float  # seconds since the epoch when the process was started
    precision: str  # fp32 | bf16
    batch_tokens: int  # padded tokens of a side in a batch
    warm_up: int  # updates that are not measured, at least
    settle: float  # seconds after the first update that are not measured, at least
    updates: int  # measured, at least
    seconds: float  # measured, at least
    dropout: float = 0.1
    label_smoothing: float = 0.1
    learning_rate: float = 0.0005

    def started_now(self) -> Task:
        """Give the task as if it began now, for a system whose data must be made ready first."""
        return replace(self, begun=time.time())

    def lines(self, name: str) -> list[list[int]]:
        """Give the sentences of one file of the corpus, without special tokens."""
        return read_lines(Path(self.corpus, name))

    def words(self, side: str) -> list[str]:
        """Give the words of a side's vocabulary, special ones left out."""
        size = self.src_vocab if side == "src" else self.tgt_vocab
        return [str(number) for number in range(SPECIALS, size)]

    def write_vocabularies(self, specials: Sequence[str]) -> None:
        """Write `src.vocab` and `tgt.vocab` into the folder: a line for each special and word."""
        for side in ("src", "tgt"):
            words = "".join(f"{word}\n" for word in (*specials, *self.words(side)))
            Path(self.folder, f"{side}.vocab").write_text(words, encoding="utf-8")

    def write_config(self, settings: Mapping[str, Any]) -> Path:
        """Write a configuration that is read as YAML, of which JSON is a part; give the file."""
        file = Path(self.folder, "config.yaml")
        file.write_text(json.dumps(settings), encoding="utf-8")
        return file
