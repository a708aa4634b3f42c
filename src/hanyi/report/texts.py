"""Sentences to read: translations beside their references, with what differs marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from hanyi.analysis.page import about, shown
from hanyi.analysis.samples import ORDER_BY, Group, groups
from hanyi.analysis.sentences import Sentences
from hanyi.corpus.samples import excerpt
from hanyi.metrics.lexical import LABELS
from hanyi.report.diff import differences
from hanyi.report.elements import Markup, details, joined, ours, section, theirs
from hanyi.report.sentences import changed_most, scores_of

LONGEST = 1000
"""Characters of a text that are shown, at most."""
OPEN = 2
"""So many groups are open at first."""
ADDED = (
    "<ins>Red</ins>: the reference has something else there, or nothing."
    f" Texts end after {LONGEST:,} characters."
)


def sentences_of(sentences: Sentences) -> Markup:
    """Give random, worst and best sentences, and those with signs of trouble."""
    parts = [
        details(
            f"{group.title} ({shown(group)})",
            joined(_row(place, sentences) for place in group.places.tolist()),
            is_open=number < OPEN,
        )
        for number, group in enumerate(groups(sentences))
    ]
    return section(
        "sentences",
        "Sentences",
        *parts,
        note=Markup(f"<del>Green</del>: the translation lacks it. {ADDED}"),
    )


def changes(sentences: Sentences, texts: Sequence[str]) -> Markup:
    """Give the sentences whose chrF changed most, both translations side by side."""
    before = scores_of(texts, sentences)
    parts = []
    for group in changed_most(sentences, before):
        rows = (
            _sides(place, sentences, texts[place], float(before[place]))
            for place in group.places.tolist()
        )
        parts.append(_opened(group, joined(rows)))
    same = sum(text == pair.hypothesis for text, pair in zip(texts, sentences.pairs, strict=True))
    note = f"{same:,} of {len(texts):,} translations are the same as the baseline's. {ADDED}"
    return section("changes", "Sentences that changed most", *parts, note=Markup(note))


def _opened(group: Group, body: Markup) -> Markup:
    return details(f"{group.title} ({shown(group)})", body or "None.", is_open=True)


def _row(place: int, sentences: Sentences) -> Markup:
    pair = sentences.pairs[place]
    pieces = differences(_cut(pair.reference), _cut(pair.hypothesis))
    return _list(
        [
            _about(about(place, sentences)),
            *_line("source", _text(pair.source), sentences.languages.src),
            *_line("reference", theirs(pieces), sentences.languages.tgt),
            *_line("translation", ours(pieces), sentences.languages.tgt),
        ]
    )


def _sides(place: int, sentences: Sentences, other: str, score: float) -> Markup:
    pair, languages = sentences.pairs[place], sentences.languages
    label = LABELS[ORDER_BY]
    sides = []
    for title, text, value in (
        ("baseline", other, score),
        ("now", pair.hypothesis, float(sentences.scores[ORDER_BY][place])),
    ):
        pieces = differences(_cut(pair.reference), _cut(text))
        sides.append(
            f'<div lang="{escape(languages.tgt)}"><span class="label" lang="en">{title},'
            f" {label} {value:.1f}</span>{ours(pieces)}</div>"
        )
    return _list(
        [
            _about(f"id {pair.id}, {pair.corpus}"),
            *_line("source", _text(pair.source), languages.src),
            *_line("reference", _text(pair.reference), languages.tgt),
            f'<dd class="sides">{"".join(sides)}</dd>',
        ]
    )


def _list(lines: Sequence[str]) -> Markup:
    return Markup(f'<dl class="row">{"".join(lines)}</dl>')


def _about(text: str) -> str:
    return f'<dd class="about">{escape(text)}</dd>'


def _line(label: str, text: Markup, language: str) -> Iterator[str]:
    yield f'<dt>{label}</dt><dd lang="{escape(language)}">{text}</dd>'


def _text(text: str) -> Markup:
    return Markup(escape(_cut(text)))


def _cut(text: str) -> str:
    return excerpt(text, longest=LONGEST)
