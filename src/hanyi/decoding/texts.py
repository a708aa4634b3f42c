"""Texts in, texts out: whatever their length, whatever the engine, one for each and none cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hanyi.decoding.config import SearchConfig
from hanyi.decoding.ensemble import Model
from hanyi.decoding.forced import Forced, Pair, force
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.jobs import Engine, Job, Report
from hanyi.decoding.mbr import rank
from hanyi.decoding.segments import join_parts, split_long
from hanyi.decoding.wishes import Wishes, holds
from hanyi.model.processes import ALONE, Processes
from hanyi.tokens.bpe import Tokenizer

Joined = tuple[Hypothesis, ...]
"""One hypothesis of each part of a text, in order."""

PARTS = 1 << 16
"""More parts than a text has: each part of each text has a number of its own."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text in parts of a length that the model knows; one without visible signs has none."""

    text: str
    parts: list[str]
    ids: list[list[int]]  # of each part, without specials


@dataclass(frozen=True, slots=True)
class Translation:
    """A translation of a whole text; what its parts have is added up or put side by side."""

    text: str
    parts: Joined

    @property
    def log_prob(self) -> float:
        """Give the sum of all parts, in nats."""
        return sum((one.log_prob for one in self.parts), 0.0)

    @property
    def tokens(self) -> list[int]:
        """Give the tokens of one part after another, without EOS."""
        return [token for one in self.parts for token in one.tokens]

    @property
    def score(self) -> float:
        """Give the sum of all parts."""
        return sum((one.score for one in self.parts), 0.0)

    @property
    def finished(self) -> bool:
        """Tell whether no part was cut."""
        return all(one.finished for one in self.parts)


@dataclass(frozen=True, slots=True)
class Row:
    """What was found for a text."""

    n_best: list[Translation]  # in the order of the choice, those with the most terms first
    parts: int
    terms: list[str]  # that were asked for
    unmet: list[str]  # that are not there

    @property
    def best(self) -> Translation:
        """Give the translation that was chosen."""
        return self.n_best[0]


class TextEngine:
    """An engine with the tokenizers of its model."""

    def __init__(
        self, engine: Engine, src: Tokenizer, tgt: Tokenizer, max_tokens: int, wishes: Wishes
    ) -> None:
        """Translate in parts of at most `max_tokens` source tokens each."""
        self.engine = engine
        self.src = src
        self.tgt = tgt
        self.max_tokens = max_tokens
        self.wishes = wishes

    def read(self, texts: Sequence[str]) -> list[Source]:
        """Cut texts into parts and the parts into tokens."""
        sources = []
        for text, ids in zip(texts, self.src.encode_batch(texts), strict=True):
            if not text.strip():
                sources.append(Source(text, [], []))
            elif len(ids) <= self.max_tokens:
                sources.append(Source(text, [text], [ids]))
            else:
                parts = split_long(text, self._length, self.max_tokens)
                sources.append(Source(text, parts, self.src.encode_batch(parts)))
        return sources

    def translate(
        self,
        sources: Sequence[Source],
        config: SearchConfig,
        *,
        numbers: Sequence[int] | None = None,
        report: Report | None = None,
        processes: Processes = ALONE,
    ) -> list[Row]:
        """Translate each source; what is drawn for it depends on its number, by default its place.

        `report` hears how many parts are done. Several processes share the work, and all get all
        rows.
        """
        jobs = self._jobs(sources, numbers or range(len(sources)))
        # A term can come to stand inside a longer word, so that another of the beam is better.
        asked = replace(config, n_best=config.places) if self.wishes.targets else config
        found = iter(self.engine.translate(jobs, asked, report=report, processes=processes))
        joined = [combine([next(found) for _ in source.parts], asked) for source in sources]
        pairs = processes.share(zip(sources, joined, strict=True))
        return processes.gather([self._row(source, some, config) for source, some in pairs])

    def _length(self, text: str) -> int:
        return len(self.src.encode(text))

    def _jobs(self, sources: Sequence[Source], numbers: Sequence[int]) -> list[Job]:
        return [
            Job(ids, self.wishes.wish(part, first=not place), number % 2**64 * PARTS + place)
            for number, source in zip(numbers, sources, strict=True)
            for place, (part, ids) in enumerate(zip(source.parts, source.ids, strict=True))
        ]

    def _row(self, source: Source, found: Sequence[Joined], config: SearchConfig) -> Row:
        terms = self.wishes.terms(source.text)

        def unmet(one: Translation) -> list[str]:
            return [term for term in terms if not holds(one.text, term)]

        def lacking(one: Translation) -> int:
            return len(unmet(one))

        n_best = sorted(map(self._translation, found), key=lacking)[: config.n_best]
        if config.choose == "mbr":
            places = rank([one.text for one in n_best], [one.score for one in n_best])
            n_best = sorted((n_best[place] for place in places), key=lacking)
        return Row(n_best, len(source.parts), terms, unmet(n_best[0]))

    def _translation(self, parts: Joined) -> Translation:
        # A token that brings the space before its word along may come first.
        texts = [self.tgt.decode(one.tokens).strip() for one in parts]
        return Translation(join_parts(texts), parts)


def explain(
    model: Model,
    sources: Sequence[Source],
    rows: Sequence[Row],
    *,
    tokens: int,
    alignment: bool,
    processes: Processes = ALONE,
) -> list[Forced]:
    """Give what each token of the chosen translations is worth and, when asked, aligned with.

    Parts are put side by side: the places are those in all source tokens of the text, and each
    finished part has its EOS. Otherwise it is as `force` does.
    """
    pairs = [
        Pair(ids, one.tokens, one.finished)
        for source, row in zip(sources, rows, strict=True)
        for ids, one in zip(source.ids, row.best.parts, strict=True)
    ]
    forced = iter(force(model, pairs, tokens=tokens, alignment=alignment, processes=processes))
    return [_side_by_side(source, [next(forced) for _ in source.parts]) for source in sources]


def _side_by_side(source: Source, parts: Sequence[Forced]) -> Forced:
    log_probs: list[float] = []
    places: list[int] = []
    before = 0
    for ids, part in zip(source.ids, parts, strict=True):
        log_probs += part.log_probs
        places += [before + place for place in part.alignment]
        before += len(ids)
    return Forced(log_probs, places)


def combine(parts: Sequence[Sequence[Hypothesis]], config: SearchConfig) -> list[Joined]:
    """Give the `n_best` translations of a text from those of its parts, best first.

    They are ranked by the sum of their scores, the finished ones first. Of samples the best of each
    part are joined, then the second best and so on, so that each occurs once. A text without parts
    has one translation, the empty one.
    """
    if parts and config.method == "sample":
        return sorted(zip(*parts, strict=True), key=_rank)
    best: list[Joined] = [()]
    for found in parts:
        longer = [(*some, one) for some in best for one in found]
        best = sorted(longer, key=_rank)[: config.n_best]
    return best


def _rank(joined: Joined) -> tuple[bool, float]:
    return not all(one.finished for one in joined), -sum(one.score for one in joined)
