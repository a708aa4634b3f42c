"""The parameters of a run; those that are not as in git, or not as the baseline's, are marked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from itertools import groupby
from typing import Any

from hanyi.params import flatten
from hanyi.report.elements import Head, Markup, details, joined, section, table

NONE = "–"
Values = Mapping[str, Any]


def parameters(params: Values, committed: Values | None, before: Values | None) -> Markup:
    """Give the parameters that differ from the committed ones or the baseline's, and all."""
    flat = flatten(params)
    others = {
        title: flatten(values)
        for title, values in (("HEAD", committed), ("baseline", before))
        if values
    }
    differ = [
        name
        for name in sorted({*flat, *(name for other in others.values() for name in other)})
        if any(other.get(name, NONE) != flat.get(name, NONE) for other in others.values())
    ]
    against = " or ".join({"HEAD": "git's HEAD", "baseline": "the baseline"}[one] for one in others)
    note = f"{len(differ) or 'None'} of {len(flat)} differ from {against}." if against else ""
    return section(
        "parameters",
        "Parameters",
        _differing(differ, flat, others),
        details(f"All {len(flat)} parameters", _all(flat, set(differ))),
        note=note,
    )


def _differing(names: list[str], flat: Values, others: Mapping[str, Values]) -> Markup:
    heads = [Head("parameter"), Head("here"), *map(Head, others)]
    same = Markup('<span class="facts">as here</span>')
    rows = []
    for name in names:
        here = flat.get(name, NONE)
        theirs = [other.get(name, NONE) for other in others.values()]
        unlike = next(value for value in theirs if value != here)
        cells = [_shown(here, unlike)]
        cells += [same if value == here else _shown(value, here) for value in theirs]
        rows.append([Markup(f"<code>{escape(name)}</code>"), *cells])
    return table(heads, rows, "Parameters that differ")


def _all(flat: Values, differ: set[str]) -> Markup:
    parts = []
    for title, names in groupby(flat, key=lambda name: name.partition(".")[0]):
        rows = []
        for name in names:
            told = f"<code>{escape(name)}</code>"
            marked = f"<mark>{told}</mark>" if name in differ else told
            rows.append([Markup(marked), _shown(flat[name], None)])
        parts += [
            Markup(f"<h3>{escape(title)}</h3>"),
            table([Head("parameter"), Head("value")], rows, f"Parameters of {title}"),
        ]
    return joined(parts)


def _shown(value: Any, other: Any) -> Markup:
    """Give a value as YAML would have it; of a list beside another one, the entries it lacks."""
    if isinstance(value, list):
        entries = value
        if isinstance(other, list) and value != other:
            entries = [entry for entry in value if entry not in other]
        text = "\n".join(map(_plain, entries)) or ("[]" if not value else "the others alone")
    else:
        text = _plain(value)
    return Markup(f"<code>{escape(text)}</code>")


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_plain(entry)}" for key, entry in value.items())
    if isinstance(value, str):
        return value or '""'
    return json.dumps(value, ensure_ascii=False, default=str)
