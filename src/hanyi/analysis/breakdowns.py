"""What the scores are made of: by corpus, by length, by rarity of words, by what is copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from hanyi.analysis.buckets import FREQUENCIES, LENGTHS, Buckets
from hanyi.analysis.copies import TITLES
from hanyi.analysis.frequency import by_frequency
from hanyi.analysis.health import MEANINGS
from hanyi.analysis.sentences import Sentences
from hanyi.analysis.tables import Cell, Column, Kind, Table
from hanyi.metrics.lexical import LABELS
from hanyi.scoring.pairing import places_by_corpus

Places = NDArray[np.int64]

ALL = "all"


def breakdowns(sentences: Sentences) -> list[Table]:
    """Give every table of the report, in its order."""
    tables = (corpora, health, lengths, rarest_word, word_frequency, copied)
    return [table(sentences) for table in tables]


def corpora(sentences: Sentences) -> Table:
    """Give the scores of all rows and of each corpus."""
    parts = places_by_corpus(sentences.pairs).items()
    everything = (ALL, np.arange(len(sentences.pairs)))
    return Table(
        "corpora",
        "Corpora",
        "Scores of whole corpora, not means of sentences; flagged: rows with a sign of trouble.",
        *_scores(sentences, Column("corpus", "corpus", Kind.TEXT), [everything, *parts]),
    )


def lengths(sentences: Sentences) -> Table:
    """Give the scores of rows with short and with long sources."""
    parts = _parts(LENGTHS, sentences.src_words)
    return Table(
        "lengths",
        "Length of the source",
        "Words of the source; in scripts without spaces each character counts as one.",
        *_scores(sentences, Column("src_words", "words", Kind.TEXT), parts),
    )


def rarest_word(sentences: Sentences) -> Table:
    """Give the scores of rows by the rarest word of their references."""
    known = np.flatnonzero(sentences.rarest >= 0)
    parts = [(label, known[rows]) for label, rows in _parts(FREQUENCIES, sentences.rarest[known])]
    return Table(
        "rarest",
        "Rarest word",
        "How often the reference's rarest word occurs in the targets of the train split.",
        *_scores(sentences, Column("occurrences", "in train", Kind.TEXT), parts),
    )


def word_frequency(sentences: Sentences) -> Table:
    """Give precision, recall and F1 of words by how often training saw them."""
    counts = by_frequency(sentences.references, sentences.hypotheses, sentences.seen)
    rows: list[list[Cell]] = [
        [label, one.reference, one.hypothesis, one.both, one.precision, one.recall, one.f1]
        for label, one in zip(FREQUENCIES.labels(), counts, strict=True)
        if one.reference or one.hypothesis
    ]
    return Table(
        "words",
        "Words by frequency",
        "Single words in lower case, by how often they occur in the targets of the train split; a"
        " word is right where it stands in the reference of its row too (Neubig et al. 2019).",
        [
            Column("occurrences", "in train", Kind.TEXT),
            Column("reference", "in references", Kind.COUNT),
            Column("hypothesis", "in translations", Kind.COUNT),
            Column("both", "right", Kind.COUNT),
            Column("precision", "precision", Kind.SHARE),
            Column("recall", "recall", Kind.SHARE),
            Column("f1", "F1", Kind.SHARE),
        ],
        rows,
    )


def copied(sentences: Sentences) -> Table:
    """Give how much was found of what translations should take over."""
    rows: list[list[Cell]] = []
    for name, counts in sentences.copied.items():
        expected, found = (int(count) for count in counts.sum(axis=0))
        share: Cell = found / expected if expected else None
        rows.append([name, TITLES[name], expected, found, share])
    return Table(
        "copied",
        "Numbers and names",
        "Numbers are compared by value, in digits or Han numerals; words to the letter.",
        [
            Column("kind", "kind", Kind.TEXT),
            Column("meaning", "what is looked for", Kind.TEXT),
            Column("expected", "expected", Kind.COUNT),
            Column("found", "found", Kind.COUNT),
            Column("share", "share", Kind.SHARE),
        ],
        rows,
    )


def health(sentences: Sentences) -> Table:
    """Give how many rows show each sign of trouble."""
    rows: list[list[Cell]] = []
    for name, mask in [*sentences.flags.items(), ("any", sentences.sick)]:
        count = int(mask.sum())
        meaning = MEANINGS.get(name, "any of these")
        rows.append([name, meaning, count, count / max(len(mask), 1)])
    return Table(
        "health",
        "Health of the output",
        "Told from the look of a translation beside its source and reference; a sign, no proof.",
        [
            Column("flag", "sign", Kind.TEXT),
            Column("meaning", "what is seen", Kind.TEXT),
            Column("rows", "rows", Kind.COUNT),
            Column("share", "share", Kind.SHARE),
        ],
        rows,
    )


def _parts(buckets: Buckets, values: NDArray[np.int64]) -> Iterator[tuple[str, Places]]:
    places = buckets.places(values)
    for place, label in enumerate(buckets.labels()):
        yield label, np.flatnonzero(places == place)


def _scores(
    sentences: Sentences, first: Column, parts: Iterable[tuple[str, Places]]
) -> tuple[list[Column], list[list[Cell]]]:
    rows: list[list[Cell]] = []
    for label, places in parts:
        if len(places):
            scores = [one.part(places).score() for one in sentences.statistics.values()]
            rows.append([label, len(places), *scores, int(sentences.sick[places].sum())])
    columns = [
        first,
        Column("rows", "rows", Kind.COUNT),
        *(Column(name, LABELS[name], Kind.SCORE) for name in sentences.statistics),
        Column("flagged", "flagged", Kind.COUNT),
    ]
    return columns, rows
