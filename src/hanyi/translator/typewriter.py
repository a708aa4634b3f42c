"""Translations that are read while they are written, token by token.

The search takes the model as an argument, so a model that tells which tokens it was given is all
that is needed: of a beam of one, these are the translation so far.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from torch import Tensor

from hanyi.decoding.config import SearchConfig
from hanyi.decoding.engine import TorchEngine
from hanyi.decoding.ensemble import Model
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.jobs import Job, Report
from hanyi.decoding.segments import join_parts
from hanyi.model.processes import ALONE, Processes
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.vocab import BOS

UNSURE = re.compile(r"[\s\ufffd]+$")
"""What may still change: space at the end goes, and a character may lack some of its bytes."""


class Watched:
    """A model that tells each token which it is to go on from; its calls take turns with others."""

    def __init__(self, model: Model, turn: Lock, hear: Callable[[int], None]) -> None:
        self.model = model
        self.turn = turn
        self.hear = hear

    def __getattr__(self, name: str) -> Any:
        """Give what else the model has."""
        return getattr(self.model, name)

    def encode(self, src: Tensor) -> Any:
        """Encode `[1, src_len]`."""
        with self.turn:
            return self.model.encode(src)

    def step(self, tokens: Tensor, cache: Any) -> Tensor:
        """Map the newest token `[1]` to logits `[1, tgt_vocab]`."""
        self.hear(int(tokens[0]))
        with self.turn:
            return self.model.step(tokens, cache)

    def step_attending(self, tokens: Tensor, cache: Any) -> Tensor:
        """Do the same, and leave `cache.attention`, `[1, src_len]`."""
        self.hear(int(tokens[0]))
        with self.turn:
            return self.model.step_attending(tokens, cache)


class Typewriter:
    """An engine that translates the parts of a text one after another and tells what it writes."""

    def __init__(
        self,
        model: Model,
        tgt: Tokenizer,
        batch_tokens: int,
        turn: Lock,
        write: Callable[[str], None],
    ) -> None:
        """Tell `write` after each token what no later one can change; it may be nothing."""
        self.tgt = tgt
        self.write = write
        self.engine = TorchEngine(Watched(model, turn, self._hear), batch_tokens)
        self.before = ""  # translation of the parts before
        self.tokens: list[int] = []  # of the part that is being written
        self.written = ""

    def translate(
        self,
        jobs: Sequence[Job],
        config: SearchConfig,
        *,
        report: Report | None = None,
        processes: Processes = ALONE,
    ) -> list[list[Hypothesis]]:
        """Translate as every engine does."""
        found = []
        for job in jobs:
            found += self.engine.translate([job], config, processes=processes)
            self._show(self.tgt.decode(found[-1][0].tokens).strip())
            self.before = self.written
            if report is not None:
                report(1)
        return found

    def _hear(self, token: int) -> None:
        if token == BOS:
            self.tokens = []
            return
        self.tokens.append(token)
        self._show(UNSURE.sub("", self.tgt.decode(self.tokens)).lstrip())

    def _show(self, part: str) -> None:
        text = join_parts([self.before, part])
        piece = text[len(self.written) :]
        self.written += piece
        self.write(piece)
