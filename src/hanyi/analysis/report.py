"""What people look at after `score`: tables, a picture, sentences; as files of several kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hanyi.analysis.breakdowns import breakdowns
from hanyi.analysis.charts import write_pictures
from hanyi.analysis.page import about, page, shown, signatures
from hanyi.analysis.samples import Group, groups
from hanyi.analysis.sentences import Sentences, write_sentences
from hanyi.analysis.tables import Table, markdown, write_csv
from hanyi.corpus.samples import excerpt

SENTENCES = "sentences.parquet"
PICTURES = ("scores.png", "scores.svg")
PAGES = ("report.html", "report.md")
TABLES = ("copied", "corpora", "health", "lengths", "rarest", "words")
FILES = (*(f"{name}.csv" for name in TABLES), *PAGES, *PICTURES, SENTENCES)
LONGEST = 400
"""Characters of a text in `report.md`, at most."""


def write_report(directory: Path, sentences: Sentences) -> None:
    """Write every file of `FILES`; their bytes depend on nothing but the rows."""
    tables = breakdowns(sentences)
    for table in tables:
        write_csv(directory / f"{table.name}.csv", table)
    write_sentences(directory / SENTENCES, sentences)
    write_pictures(directory, sentences, tables)
    picture = (directory / "scores.svg").read_text(encoding="utf-8")
    for name, text in (
        ("report.html", page(sentences, tables, picture)),
        ("report.md", _markdown(sentences, tables)),
    ):
        (directory / name).write_text(text, encoding="utf-8", newline="\n")


def counts(sentences: Sentences) -> dict[str, int]:
    """Give the `health` section of the metrics: rows with each sign of trouble, and with any."""
    masks = {**sentences.flags, "any": sentences.sick}
    return {name: int(mask.sum()) for name, mask in masks.items()}


def _markdown(sentences: Sentences, tables: Sequence[Table]) -> str:
    lines = ["# What the scores are made of", ""]
    for table in tables:
        lines += [f"## {table.title}", "", table.note, "", *markdown(table), ""]
        if table is tables[0]:
            lines += [*(f"* {line}" for line in signatures(sentences)), ""]
            lines += ["![How the scores are spread](scores.svg)", ""]
    lines += [
        "## Sentences",
        "",
        "Source, reference and translation of each; all rows are in `sentences.parquet`.",
        f"Texts end after {LONGEST} characters; ⟨U+200B⟩ stands for an invisible character.",
        "",
    ]
    for group in groups(sentences):
        lines += [f"### {group.title} ({shown(group)})", "", *_block(group, sentences)]
    return "\n".join(lines)


def _block(group: Group, sentences: Sentences) -> Iterator[str]:
    # Nothing inside is taken for Markdown: no text begins its line, so none can end the block.
    yield "```text"
    for number, place in enumerate(group.places.tolist()):
        pair = sentences.pairs[place]
        if number:
            yield ""
        yield about(place, sentences)
        for text in (pair.source, pair.reference, pair.hypothesis):
            yield f"  {excerpt(text, longest=LONGEST)}"
    yield from ("```", "")
