"""The scores of a run: all together, by corpus, beside a baseline's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from hanyi.metrics.lexical import LABELS, METRICS
from hanyi.report.baseline import Baseline, Compared
from hanyi.report.elements import Head, Markup, details, joined, section, table
from hanyi.report.run import Run

ALL = "all"
SURE = 0.05
"""A smaller p is told as a difference."""


def tiles(run: Run, baseline: Baseline | None) -> Markup:
    """Give the scores of all rows in large figures."""
    score = run.metrics["score"]
    compared = {name: found for part, _, name, found in _compared(baseline) if part == ALL}
    shown = []
    for name in _names(score):
        below = ""
        if name in compared:
            found = compared[name]
            told = f"{_sign(found.difference)}, p {found.p_value:.3f}"
            kind = _kind(name, found.difference) if found.p_value < SURE else ""
            below = (
                f'<small class="{kind}">baseline {found.baseline:.2f}<br><em>{told}</em></small>'
            )
        interval = score[name].get("ci")
        around = f" <span>± {interval:.2f}</span>" if interval is not None else ""
        shown.append(
            f'<div class="tile"><span>{escape(LABELS.get(name, name))}</span>'
            f"<b>{score[name]['score']:.2f}</b>{around}{below}</div>"
        )
    return Markup(f'<div class="tiles">{"".join(shown)}</div>')


def by_corpus(run: Run) -> Markup:
    """Give the score of each corpus with its interval, and how each metric is computed."""
    score = run.metrics["score"]
    names = _names(score)
    parts: Mapping[str, Any] = {ALL: score, **score.get("corpora", {})}
    rows = [
        [corpus, f"{part.get('rows', 0):,}", *(_figure(part.get(name, {})) for name in names)]
        for corpus, part in parts.items()
    ]
    heads = [
        Head("corpus"),
        Head("rows", True),
        *(Head(LABELS.get(one, one), True) for one in names),
    ]
    signatures = joined(
        Markup(f"<div>{escape(LABELS.get(name, name))}: {escape(score[name]['signature'])}</div>")
        for name in names
    )
    return section(
        "scores",
        "Scores",
        table(heads, rows, "Scores by corpus"),
        details("Signatures", Markup(f'<div class="signatures">{signatures}</div>')),
        note="Scores of whole corpora, with half the width of their 95% confidence intervals"
        " (bootstrap over the rows, Koehn 2004).",
    )


def comparison(baseline: Baseline | None) -> Markup:
    """Give the differences to the baseline with their significance."""
    rows = list(map(_difference, _compared(baseline)))
    name = baseline.name if baseline else ""
    heads = [
        Head("corpus"),
        Head("rows", True),
        Head("metric"),
        *(Head(text, True) for text in ("baseline", "now", "difference", "p")),
    ]
    return section(
        "comparison",
        "Beside the baseline",
        table(heads, rows, "Differences to the baseline"),
        note=f"The baseline is {name}. p is the probability of a difference as large as that"
        f" between equal systems (paired bootstrap, Koehn 2004), coloured under {SURE}.",
    )


def _difference(compared: Compared) -> list[str]:
    corpus, rows, name, found = compared
    told = _sign(found.difference)
    if found.p_value < SURE:
        told = Markup(f'<em class="{_kind(name, found.difference)}">{told}</em>')
    figures = [f"{found.baseline:.2f}", f"{found.system:.2f}", told, f"{found.p_value:.4f}"]
    return [corpus, f"{rows:,}", LABELS.get(name, name), *figures]


def _compared(baseline: Baseline | None) -> Iterator[Compared]:
    yield from baseline.compared if baseline else ()


def _names(score: Mapping[str, Any]) -> list[str]:
    """Give the metrics in the order in which people name them."""
    return [name for name in LABELS if isinstance(score.get(name), Mapping)]


def _figure(values: Mapping[str, float]) -> str:
    if "score" not in values:
        return "–"
    interval = f" ± {values['ci']:.2f}" if "ci" in values else ""
    return f"{values['score']:.2f}{interval}"


def _sign(difference: float) -> str:
    return f"{difference:+.2f}".replace("-", "−")


def _kind(name: str, difference: float) -> str:
    if not difference:
        return ""
    higher = name not in METRICS or METRICS[name].higher_is_better
    return "good" if (difference > 0) == higher else "bad"
