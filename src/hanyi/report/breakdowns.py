"""What the scores are made of: by length, by rarity of words, by signs of trouble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hanyi.analysis.health import MEANINGS
from hanyi.metrics.lexical import LABELS
from hanyi.report.charts import Bars, columns
from hanyi.report.elements import Head, Markup, charts, details, joined, section, table
from hanyi.report.run import Rows, Run

HIGHEST = 100.0  # of scores and percents
PERCENTS = {"precision", "recall", "f1"}


class Breakdown(NamedTuple):
    """A table of `score`: its name, title, column of ranges, what is drawn and what is told."""

    name: str
    title: str
    key: str
    axis: str
    drawn: str
    counted: str
    shown: Mapping[str, str]


SCORED = {"rows": "rows", "bleu": "BLEU", "chrf": "chrF", "comet": "COMET"}
WORDS = {
    "reference": "in references",
    "hypothesis": "in translations",
    "both": "right",
    "precision": "precision, %",
    "recall": "recall, %",
    "f1": "F1, %",
}
SHOWN = {"rows": "rows", "reference": "words"}
BREAKDOWNS = (
    Breakdown(
        "lengths", "chrF by length", "src_words", "words of the source", "chrf", "rows", SCORED
    ),
    Breakdown(
        "rarest",
        "chrF by the rarest word of the reference",
        "occurrences",
        "occurrences in train",
        "chrf",
        "rows",
        SCORED,
    ),
    Breakdown(
        "words",
        "F1 of words by frequency, %",
        "occurrences",
        "occurrences in train",
        "f1",
        "reference",
        WORDS,
    ),
)


def breakdowns(run: Run, before: Run | None) -> Markup:
    """Give scores by ranges, drawn, and as tables to be opened."""
    figures, tables = [], []
    for one in BREAKDOWNS:
        now = run.tables.get(one.name, ())
        then = before.tables.get(one.name, ()) if before else ()
        figures.append(_drawn(one, now, then))
        if now:
            tables.append(details(f"Table: {one.title}", _told(one, now, then)))
    return section(
        "breakdowns",
        "By length and by frequency of words",
        charts(*figures),
        joined(tables),
        note="Each character of a script without spaces counts as a word. Frequencies are"
        " occurrences in the targets of the train split.",
    )


def health(run: Run, before: Run | None) -> Markup:
    """Give how many rows show each sign of trouble."""
    now, then = (
        one.metrics.get("score", {}).get("health", {}) if one else {} for one in (run, before)
    )
    heads = [Head("sign"), Head("rows", True)]
    if then:
        heads.append(Head("baseline", True))
    rows = []
    for name in (*MEANINGS, "any"):
        if name in now:
            counts = [f"{now[name]:,}"] + ([_count(then, name)] if then else [])
            rows.append([name, *counts, MEANINGS.get(name, "any of these")])
    return section(
        "health",
        "Health of the output",
        table([*heads, Head("what is seen")], rows, "Signs of trouble"),
        note="Told from the look of a translation beside source and reference; a sign, no proof.",
    )


def _count(counts: Mapping[str, int], name: str) -> str:
    return f"{counts[name]:,}" if name in counts else "–"


def _drawn(one: Breakdown, now: Rows, then: Rows) -> str:
    groups = [row[one.key] for row in now]
    if not groups:
        return ""
    bars = [Bars("now", _values(one, now, groups), "now")]
    if then:
        bars.insert(0, Bars("baseline", _values(one, then, groups), "before"))
    counts = [int(row[one.counted]) for row in now]
    axis = f"{one.axis}, and {SHOWN[one.counted]}"
    return columns(one.title, groups, bars, axis, counts=counts, highest=HIGHEST)


def _values(one: Breakdown, rows: Rows, groups: Sequence[str]) -> list[float | None]:
    found = {row[one.key]: row.get(one.drawn) for row in rows}
    scale = 100 if one.drawn in PERCENTS else 1
    return [scale * float(value) if (value := found.get(group)) else None for group in groups]


def _told(one: Breakdown, now: Rows, then: Rows) -> Markup:
    shown = {name: head for name, head in one.shown.items() if name in now[0]}
    heads = [Head(one.axis), *(Head(head, True) for head in shown.values())]
    before = {row[one.key]: row.get(one.drawn, "") for row in then}
    if then:
        heads.append(Head(f"{LABELS.get(one.drawn, 'F1, %')} of the baseline", True))
    rows = []
    for row in now:
        cells = [row[one.key], *(_cell(name, row[name]) for name in shown)]
        if then:
            cells.append(_cell(one.drawn, before.get(row[one.key], "")))
        rows.append(cells)
    return table(heads, rows, one.title)


def _cell(name: str, value: str) -> str:
    if not value:
        return "–"
    if name in PERCENTS:
        return f"{100 * float(value):.1f}"
    return f"{int(value):,}" if value.isdigit() else f"{float(value):.2f}"
