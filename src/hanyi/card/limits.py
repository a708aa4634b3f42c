"""What goes wrong how often, from the scores by corpus, length and word, and signs of trouble."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from hanyi.analysis.tables import Cell, Column, Kind, Table, markdown
from hanyi.card.facts import Facts

FEW = 30
"""Rows under which a part of the test split tells little."""

SURE = 1.959963985
"""Deviations of the normal distribution that hold 95% of it."""

SIGN = Column("flag", "sign", Kind.TEXT)
MEANING = Column("meaning", "what is seen", Kind.TEXT)
ROWS = Column("rows", "rows", Kind.COUNT)
SHARE = Column("share", "share", Kind.SHARE)
INTERVAL = Column("interval", "95% interval", Kind.TEXT)

NOT_JUDGED = "No person has judged these translations; scores compare them with one reference each."

NOT_MEASURED = (
    "A fluent translation can be wrong: likeness to a reference does not prove it true.",
    "Whether translations are biased or offensive is not measured.",
)


def limits(facts: Facts) -> Iterator[str]:
    """Give the lines of the section."""
    yield from (f"* {line}" for line in _sentences(facts))
    for title, table in _tables(facts):
        yield from ("", title, "", *markdown(table))
    yield ""


def wilson(found: int, of: int) -> tuple[float, float]:
    """Give the 95% interval of a share (Wilson 1927)."""
    if not of:
        return 0.0, 1.0
    share, z = found / of, SURE * SURE
    middle = (share + z / (2 * of)) / (1 + z / of)
    width = SURE / (1 + z / of) * math.sqrt(share * (1 - share) / of + z / (4 * of * of))
    return max(0.0, middle - width), min(1.0, middle + width)


def _sentences(facts: Facts) -> Iterator[str]:
    if "score" in facts.metrics:
        yield from _between_corpora(facts.metrics["score"].get("corpora", {}))
    yield from _lengths(facts.breakdowns.get("lengths", []))
    unseen = facts.breakdowns.get("words", [])[:1]
    if unseen and unseen[0]["occurrences"] == "0":
        both, of = int(unseen[0]["both"]), int(unseen[0]["reference"])
        yield f"Of {of:,} words in the references that training never saw, it writes {both:,}."
    yield (
        f"A text of more than {facts.model.max_tokens} tokens is cut at its sentence marks, and "
        "each part is translated without knowing the others."
    )
    if "score" in facts.metrics:
        yield NOT_JUDGED
    yield from NOT_MEASURED


def _between_corpora(corpora: Mapping[str, Any]) -> Iterator[str]:
    ranked = sorted(corpora, key=lambda name: (corpora[name]["chrf"]["score"], name))
    if len(ranked) < 2:
        yield "All that is measured is measured on texts of one kind, those of its test split."
        return
    parts = [
        f"{corpora[name]['chrf']['score']:.1f} ± {corpora[name]['chrf']['ci']:.1f} on {name}"
        for name in (ranked[0], ranked[-1])
    ]
    yield (
        f"It depends on the kind of text: chrF {parts[0]}, {parts[1]}. "
        "Other kinds of text were not measured."
    )


def _lengths(rows: list[dict[str, str]]) -> Iterator[str]:
    few = [row for row in rows if int(row["rows"]) < FEW]
    if few:
        named = ", ".join(f"{row['src_words']} ({int(row['rows'])})" for row in few)
        yield f"Under {FEW} test sentences are too few to tell; so of these lengths: {named}."
    if rows and not (longest := rows[-1]["src_words"]).endswith("+"):
        longest = longest.rpartition("-")[2]
        yield f"No test sentence has more than {longest} words; nothing is known of longer ones."


def _tables(facts: Facts) -> Iterator[tuple[str, Table]]:
    health = facts.breakdowns.get("health", [])
    if health:
        of = facts.metrics["score"]["rows"]
        yield (
            f"Signs of trouble in {of:,} test translations, told from their look:",
            Table("", "", "", [SIGN, MEANING, ROWS, SHARE, INTERVAL], _signs(health, of)),
        )
    lengths = facts.breakdowns.get("lengths", [])
    if lengths:
        columns = [
            Column("src_words", "words of the source", Kind.TEXT),
            ROWS,
            Column("chrf", "chrF", Kind.SCORE),
            Column("flagged", "with a sign of trouble", Kind.COUNT),
        ]
        yield (
            "By length; where there are no spaces each character counts as a word:",
            _table(columns, lengths),
        )
    words = facts.breakdowns.get("words", [])
    if words:
        columns = [
            Column("occurrences", "times seen in training", Kind.TEXT),
            Column("reference", "in the references", Kind.COUNT),
            Column("recall", "of these written", Kind.SHARE),
            Column("precision", "right where written", Kind.SHARE),
        ]
        yield "Words of the references:", _table(columns, words)
    copied = [row for row in facts.breakdowns.get("copied", []) if int(row["expected"])]
    if copied:
        columns = [
            Column("meaning", "what source and reference share", Kind.TEXT),
            Column("expected", "there", Kind.COUNT),
            Column("found", "in the translation too", Kind.COUNT),
            SHARE,
        ]
        yield "What should be taken over:", _table(columns, copied)


def _signs(rows: list[dict[str, str]], of: int) -> list[list[Cell]]:
    found: list[list[Cell]] = []
    for row in rows:
        least, most = wilson(int(row["rows"]), of)
        count, share = int(row["rows"]), float(row["share"])
        found.append([row["flag"], row["meaning"], count, share, f"{least:.1%} to {most:.1%}"])
    return found


def _table(columns: list[Column], rows: list[dict[str, str]]) -> Table:
    return Table("", "", "", columns, [[_cell(column, row) for column in columns] for row in rows])


def _cell(column: Column, row: Mapping[str, str]) -> Cell:
    text = row[column.name]
    if column.kind is Kind.TEXT:
        return text
    if not text:
        return None
    return int(text) if column.kind is Kind.COUNT else float(text)
