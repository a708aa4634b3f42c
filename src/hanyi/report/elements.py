"""Pieces of HTML; whatever is not made here is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from hanyi.report.diff import Kind, Piece


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


class Head(NamedTuple):
    """The head of a column of a table."""

    text: str
    is_number: bool = False


def plain(text: str) -> Markup:
    """Escape a text, unless it is HTML already."""
    return text if isinstance(text, Markup) else Markup(escape(text))


def joined(parts: Iterable[str]) -> Markup:
    """Put parts one after the other."""
    return Markup("\n".join(plain(part) for part in parts))


def section(anchor: str, title: str, *parts: str, note: str = "") -> Markup:
    """Give a part of the page with its heading; nothing when there is nothing in it."""
    if not any(parts):
        return Markup("")
    told = f'<p class="note">{plain(note)}</p>' if note else ""
    head = f'<section id="{escape(anchor)}"><h2>{escape(title)}</h2>{told}'
    return Markup(f"{head}\n{joined(filter(None, parts))}\n</section>")


def details(title: str, body: str, *, is_open: bool = False) -> Markup:
    """Give a part that is opened by a click."""
    state = " open" if is_open else ""
    return Markup(f"<details{state}><summary>{plain(title)}</summary>\n{plain(body)}\n</details>")


def table(heads: Sequence[Head], rows: Sequence[Sequence[str]], label: str) -> Markup:
    """Give a table, which scrolls by itself where the page is narrow."""
    if not rows:
        return Markup("")
    lines = [
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}"><table>',
        f"<thead>{_row(heads, [head.text for head in heads], 'th')}</thead><tbody>",
        *(_row(heads, row, "td") for row in rows),
        "</tbody></table></div>",
    ]
    return Markup("\n".join(lines))


def charts(*figures: str) -> Markup:
    """Put charts side by side, as many as have room; empty ones are left out."""
    shown = "\n".join(filter(None, figures))
    return Markup(f'<div class="charts">{shown}</div>' if shown else "")


def theirs(pieces: Iterable[Piece]) -> Markup:
    """Give the reference with what the translation lacks marked."""
    return _marked(pieces, Kind.MISSING, "del")


def ours(pieces: Iterable[Piece]) -> Markup:
    """Give the translation with what the reference lacks marked."""
    return _marked(pieces, Kind.EXTRA, "ins")


def _marked(pieces: Iterable[Piece], kind: Kind, tag: str) -> Markup:
    shown = (
        f"<{tag}>{escape(piece.text)}</{tag}>" if piece.kind is kind else escape(piece.text)
        for piece in pieces
        if piece.kind in {kind, Kind.SAME}
    )
    return Markup("".join(shown))


def _row(heads: Sequence[Head], cells: Sequence[str], tag: str) -> str:
    ends = (' class="n"' if head.is_number else "" for head in heads)
    shown = (f"<{tag}{end}>{plain(cell)}</{tag}>" for end, cell in zip(ends, cells, strict=True))
    return f"<tr>{''.join(shown)}</tr>"
