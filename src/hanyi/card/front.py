"""The front matter of a card: what the Hugging Face hub reads by machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hanyi.card.facts import Facts
from hanyi.card.licenses import on_the_hub
from hanyi.metrics.lexical import LABELS
from hanyi.plain_yaml import plain_yaml

HUB = {"chrf_pp": "chrf"}
"""Names of metrics that the hub calls otherwise; there chrF++ is chrF with words."""

DIGITS = 2


def front_matter(facts: Facts, name: str, license_: str) -> str:
    """Give the block of YAML that a card begins with."""
    values: dict[str, Any] = {}
    if facts.languages:
        values["language"] = list(facts.languages)
    values |= on_the_hub(license_)
    values["library_name"] = "hanyi"
    values["pipeline_tag"] = "translation"
    values["tags"] = ["translation", "transformer", "hanyi"]
    score = facts.metrics.get("score", {})
    if measured := list(_scores(score)):
        values["metrics"] = sorted({HUB.get(metric, metric) for metric, _ in measured})
        parts = {"all": score, **score.get("corpora", {})}
        results = [_result(corpus, part) for corpus, part in parts.items()]
        values["model-index"] = [{"name": name, "results": results}]
    return f"---\n{plain_yaml(values)}---\n"


def _result(corpus: str, part: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "task": {"type": "translation", "name": "Translation"},
        "dataset": {"type": corpus, "name": f"{corpus}, test split", "split": "test"},
        "metrics": [
            {
                "type": HUB.get(metric, metric),
                "name": LABELS.get(metric, metric),
                "value": round(value["score"], DIGITS),
                "args": {"signature": value["signature"]},
            }
            for metric, value in _scores(part)
        ],
    }


def _scores(part: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for metric, value in part.items():
        if isinstance(value, Mapping) and {"score", "signature"} <= set(value):
            yield metric, value
