"""The translations behind the scores: those that are here, and the baseline's."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanyi.errors import HanyiError
from hanyi.gate.finding import Finding, failed, passed
from hanyi.gate.scores import TOLERANCE
from hanyi.metrics.lexical import METRICS, QUICK, measure
from hanyi.metrics.statistics import Statistics
from hanyi.metrics.tokenizers import bleu_tokenizer
from hanyi.scoring.baselines import read_baseline
from hanyi.scoring.comet import measure_comet
from hanyi.scoring.config import ScoreConfig
from hanyi.scoring.pairing import Pair, places_by_corpus, read_pairs
from hanyi.scoring.significance import Comparison, bootstrap

CHECK = "sentences"
COMET = "comet"
END = ".score"


@dataclass(frozen=True)
class Measures:
    """How translations are measured: the metrics of some scores, as the section `score` says."""

    scores: Collection[str]  # such as `bleu.score` and `corpora.hsk.chrf.score`
    config: ScoreConfig
    target: str  # language, BCP 47

    def of(self, pairs: Sequence[Pair]) -> dict[str, Statistics]:
        """Give what each metric counts; BLEU and chrF are among them, since they are quick."""
        names = {*QUICK, *(_parse(name)[1] for name in self.scores)}
        found = measure(
            [pair.hypothesis for pair in pairs],
            [pair.reference for pair in pairs],
            bleu_tokenizer(self.config.tokenize, self.target),
            [name for name in METRICS if name in names],
        )
        if COMET in names and self.config.comet is not None:
            found = {**found, COMET: measure_comet(pairs, self.config.comet)}
        return found


@dataclass(frozen=True)
class Sentences:
    """What metrics count in the translations, and in the baseline's where they are at hand."""

    findings: Sequence[Finding]
    now: Mapping[str, Statistics] = field(default_factory=dict)
    before: Mapping[str, Statistics] = field(default_factory=dict)
    places: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    def compare(self, name: str) -> Comparison | None:
        """Compare by paired bootstrap, or give None when the sentences of a side are missing.

        The name is that of a score, such as `bleu.score` or `corpora.hsk.chrf.score`.
        """
        corpus, metric = _parse(name)
        if metric not in self.before or (corpus and corpus not in self.places):
            return None
        now, before = self.now[metric], self.before[metric]
        if corpus:
            now, before = now.part(self.places[corpus]), before.part(self.places[corpus])
        return bootstrap(before, now)


def read_sentences(
    decoded: Path,
    prepared: Path,
    measures: Measures,
    scores: Mapping[str, Any],
    baseline: str | None,
) -> Sentences:
    """Measure the translations, hold `scores` against them, and measure the baseline's.

    A side that is not at hand is a finding that passes and says so; translations of another test
    split, or a score that the sentences do not give, fail.
    """
    if missing := [path for path in (decoded, prepared) if not path.exists()]:
        remedy = "; allowed drops decide" if baseline else ""
        told = f"not looked at: {missing[0]} is not here{remedy}"
        return Sentences([passed(CHECK, decoded, told)])
    try:
        pairs = read_pairs(decoded, prepared)
        now = measures.of(pairs)
    except HanyiError as error:
        return Sentences([failed(CHECK, decoded, str(error))])
    findings = _against(now, scores, decoded)
    if baseline is None:
        return Sentences(findings, now)
    try:
        texts = read_baseline(baseline, pairs, decoded, prepared)
    except HanyiError as error:
        told = f"no paired test, allowed drops decide: {error}"
        return Sentences([*findings, passed(CHECK, baseline, told)], now)
    before = measures.of(
        [pair._replace(hypothesis=text) for pair, text in zip(pairs, texts, strict=True)]
    )
    tested = passed(CHECK, baseline, f"ok, {len(pairs):,} pairs for the paired bootstrap")
    return Sentences([*findings, tested], now, before, places_by_corpus(pairs))


def _against(
    now: Mapping[str, Statistics], scores: Mapping[str, Any], decoded: Path
) -> list[Finding]:
    other = [
        failed(
            CHECK,
            decoded,
            f"these translations give {name} {value:.3f}, the metrics say {scores.get(name)}; "
            "run `dvc repro`",
        )
        for name, value in ((f"{metric}{END}", one.score()) for metric, one in now.items())
        if not _close(scores.get(name), value)
    ]
    return other or [passed(CHECK, decoded, "ok, they give the scores")]


def _close(told: object, value: float) -> bool:
    return isinstance(told, int | float) and abs(told - value) <= TOLERANCE


def _parse(name: str) -> tuple[str, str]:
    """Give corpus, which may be empty, and metric."""
    rest, _, metric = name.removesuffix(END).rpartition(".")
    return rest.removeprefix("corpora."), metric
