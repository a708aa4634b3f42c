"""The report of a run as one page: nothing is loaded from elsewhere, nothing runs in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from hanyi.languages import Languages
from hanyi.params import parse
from hanyi.report.baseline import Baseline
from hanyi.report.breakdowns import breakdowns, health
from hanyi.report.corpora import funnel, lengths
from hanyi.report.elements import Markup, joined
from hanyi.report.parameters import parameters
from hanyi.report.run import Run
from hanyi.report.scores import by_corpus, comparison, tiles
from hanyi.report.sentences import described
from hanyi.report.style import STYLE
from hanyi.report.texts import changes, sentences_of
from hanyi.report.training import curves

# Should a text get past the escapes, the browser still loads and runs nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
LINKS = {
    "comparison": "Beside the baseline",
    "scores": "Scores",
    "curves": "Training",
    "breakdowns": "Length and frequency",
    "health": "Health",
    "changes": "Changes",
    "sentences": "Sentences",
    "funnel": "Funnel",
    "lengths": "Lengths",
    "parameters": "Parameters",
}


def page(
    run: Run, baseline: Baseline | None = None, committed: Mapping[str, Any] | None = None
) -> str:
    """Give the page of a run that has been scored; `committed` are the parameters in git.

    The same files give the same page: no time, no machine. Raises `HanyiError` for languages that
    are none.
    """
    languages = parse("languages", Languages, run.params.get("languages", {}))
    before = baseline.run if baseline else None
    parts = [tiles(run, baseline), comparison(baseline), by_corpus(run)]
    parts += [curves(run, before), breakdowns(run, before), health(run, before)]
    if run.sentences is not None:
        sentences = described(run.sentences, languages)
        parts += [changes(sentences, baseline.texts)] if baseline else []
        parts.append(sentences_of(sentences))
    parts += [funnel(run), lengths(run)]
    parts.append(parameters(run.params, committed, before.params if before else None))
    title = f"{languages.src} → {languages.tgt}: report of a run"
    body = joined(part for part in parts if part)
    links = "".join(
        f'<a href="#{name}">{text}</a>' for name, text in LINKS.items() if f'id="{name}"' in body
    )
    return joined(
        [
            Markup("<!DOCTYPE html>"),
            Markup('<html lang="en"><head>'),
            Markup('<meta charset="utf-8">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup(f"<title>{escape(title)}</title>"),
            Markup(f"<style>{STYLE}</style></head><body>"),
            Markup(f"<header><h1>{escape(title)}</h1>"),
            *_facts(run, baseline),
            Markup(f"</header><nav>{links}</nav><main>"),
            body,
            Markup("</main></body></html>\n"),
        ]
    )


def _facts(run: Run, baseline: Baseline | None) -> Sequence[Markup]:
    train, score = run.metrics.get("train", {}), run.metrics.get("score", {})
    facts = [
        f"{score['rows']:,} test rows" if "rows" in score else "",
        f"{train['parameters']:,} weights" if "parameters" in train else "",
        f"{train['steps']:,} updates" if "steps" in train else "",
    ]
    lines = [", ".join(filter(None, facts))]
    if baseline:
        lines.append(f"Baseline: {baseline.name}")
    for whose, one in (("run", run), ("baseline", baseline.run if baseline else None)):
        if one and one.lacking:
            lines.append(f"Not found of the {whose}: {', '.join(one.lacking)}")
    return [Markup(f'<p class="facts">{escape(line)}</p>') for line in lines if line]
