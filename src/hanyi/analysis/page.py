"""The report as one page for a browser: nothing is loaded from elsewhere, nothing runs in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from hanyi.analysis.samples import Group, groups
from hanyi.analysis.sentences import Sentences
from hanyi.analysis.tables import Kind, Table
from hanyi.analysis.words import WORD
from hanyi.corpus.samples import excerpt
from hanyi.metrics.lexical import LABELS

LONGEST = 1000
"""Characters of a text that are shown, at most."""

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin: 2rem 0 .3rem; } p { margin: .3rem 0; opacity: .75; }
table { border-collapse: collapse; } th, td { padding: .15rem .8rem .15rem 0; text-align: left; }
th { border-bottom: 1px solid; font-weight: 600; } .n { text-align: right; }
.n, .n td { font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; }
summary { cursor: pointer; font-weight: 600; margin: .8rem 0; }
dl { margin: 0 0 1.2rem; } dt { opacity: .7; font-size: .85em; } dd { margin: 0; }
dd.reference { opacity: .75; } mark { background: #e8837e66; color: inherit; }
@media (prefers-color-scheme: dark) { svg { filter: invert(.88) hue-rotate(180deg); } }
"""


def page(sentences: Sentences, tables: Sequence[Table], picture: str) -> str:
    """Give the page; `picture` is an SVG, which becomes a part of it."""
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        "<title>What the scores are made of</title>",
        f"<style>{_STYLE}</style>",
        "<h1>What the scores are made of</h1>",
        *_table(tables[0]),
        *(f"<p>{escape(line)}</p>" for line in signatures(sentences)),
        f"<figure>{picture[picture.index('<svg') :]}</figure>",
    ]
    for table in tables[1:]:
        lines += _table(table)
    lines.append("<h2>Sentences</h2>")
    lines.append(
        "<p>Source, reference and translation, in which words that the reference lacks are"
        f" <mark>marked</mark>. Texts end after {LONGEST:,} characters.</p>"
    )
    for place, group in enumerate(groups(sentences)):
        lines += _group(group, sentences, is_open=place == 0)
    return "\n".join([*lines, "</html>", ""])


def signatures(sentences: Sentences) -> Iterator[str]:
    """Say how each metric is computed."""
    for name, one in sentences.statistics.items():
        yield f"{LABELS[name]}: {one.signature}"


def about(place: int, sentences: Sentences) -> str:
    """Say of a row what its number, scores and signs of trouble are."""
    pair = sentences.pairs[place]
    scores = (f"{LABELS[name]} {scores[place]:.1f}" for name, scores in sentences.scores.items())
    flags = [name for name, mask in sentences.flags.items() if mask[place]]
    return ", ".join([f"id {pair.id}", pair.corpus, *scores, *flags])


def shown(group: Group) -> str:
    """Say how many of a group's rows are shown."""
    count = len(group.places)
    return f"{group.of:,}" if count == group.of else f"{count} of {group.of:,}"


def _table(table: Table) -> Iterator[str]:
    kinds = [column.kind for column in table.columns]
    yield f'<h2 id="{table.name}">{escape(table.title)}</h2>'
    yield f"<p>{escape(table.note)}</p>"
    yield "<table>"
    yield _row("th", [column.head for column in table.columns], kinds)
    for row in table.shown():
        yield _row("td", row, kinds)
    yield "</table>"


def _row(tag: str, cells: Sequence[str], kinds: Sequence[Kind]) -> str:
    ends = ("" if kind is Kind.TEXT else ' class="n"' for kind in kinds)
    joined = "".join(
        f"<{tag}{end}>{escape(cell)}</{tag}>" for cell, end in zip(cells, ends, strict=True)
    )
    return f"<tr>{joined}</tr>"


def _group(group: Group, sentences: Sentences, *, is_open: bool) -> Iterator[str]:
    yield f"<details{' open' if is_open else ''}>"
    yield f"<summary>{escape(group.title)} ({shown(group)})</summary>"
    src, tgt = escape(sentences.languages.src), escape(sentences.languages.tgt)
    for place in group.places.tolist():
        pair = sentences.pairs[place]
        yield f"<dl><dt>{escape(about(place, sentences))}</dt>"
        yield f'<dd lang="{src}">{escape(excerpt(pair.source, longest=LONGEST))}</dd>'
        reference = escape(excerpt(pair.reference, longest=LONGEST))
        yield f'<dd lang="{tgt}" class="reference">{reference}</dd>'
        yield f'<dd lang="{tgt}">{_marked(pair.hypothesis, pair.reference)}</dd></dl>'
    yield "</details>"


def _marked(hypothesis: str, reference: str) -> str:
    known = set(WORD.findall(reference.casefold()))
    text = excerpt(hypothesis, longest=LONGEST)
    parts, end = [], 0
    for match in WORD.finditer(text):
        word = escape(match[0])
        right = match[0].casefold() in known
        parts += [escape(text[end : match.start()]), word if right else f"<mark>{word}</mark>"]
        end = match.end()
    return "".join([*parts, escape(text[end:])])
