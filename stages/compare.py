"""Is it better? `python -m stages.compare BASELINE [--test TEST] [--markdown]`; not a stage.

It compares the translations in the workspace with those of a git revision, of a DVC experiment or
in a decoded file, on the same test split.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hanyi.languages import Languages
from hanyi.metrics.lexical import LABELS
from hanyi.params import load_section
from hanyi.scoring.baselines import read_baseline
from hanyi.scoring.config import ScoreConfig
from hanyi.scoring.evaluation import evaluate
from hanyi.scoring.pairing import Pair, places_by_corpus, read_pairs
from hanyi.scoring.significance import TESTS, Comparison
from stages.harness import one_line_errors
from stages.paths import DECODED, PREPARED
from stages.tables import Sheet

HEADS = ("corpus", "rows", "metric", "baseline", "now", "difference", "p")
TEXTS = ("corpus", "metric")  # columns of text; the others hold numbers
SURE = 0.05  # a smaller p is marked


class Line(NamedTuple):
    """One metric on one part of the test split."""

    corpus: str
    rows: int
    metric: str
    found: Comparison


def main(arguments: Sequence[str]) -> None:
    """Print the table of comparisons."""
    parser = argparse.ArgumentParser(prog="python -m stages.compare", description="Is it better?")
    parser.add_argument("baseline", help="git revision, DVC experiment or decoded file")
    parser.add_argument("--test", choices=TESTS, default="bootstrap", help="paired, of resamples")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    flags = parser.parse_args(arguments)
    lines = compare(flags.baseline, flags.test)
    sheet = Sheet(HEADS, [_cells(line) for line in lines], TEXTS)
    marks = ["bold" if line.found.p_value < SURE else None for line in lines]
    sys.stdout.write(sheet.markdown() if flags.markdown else sheet.terminal(marks))


def compare(baseline: str, test: str) -> list[Line]:
    """Compare the workspace's translations with those of a baseline."""
    decoded, prepared = DECODED / "test.jsonl", PREPARED / "test.parquet"
    pairs = read_pairs(decoded, prepared)
    return compare_texts(pairs, read_baseline(baseline, pairs, decoded, prepared), test)


def compare_texts(pairs: Sequence[Pair], texts: Sequence[str], test: str) -> list[Line]:
    """Compare with other translations of each pair: all rows, then each corpus, every metric."""
    config = load_section("score", ScoreConfig)
    target = load_section("languages", Languages).tgt
    now = evaluate(pairs, config, target)
    others = [pair._replace(hypothesis=text) for pair, text in zip(pairs, texts, strict=True)]
    before = evaluate(others, config, target)
    parts = [("all", np.arange(len(pairs))), *places_by_corpus(pairs).items()]
    return [
        Line(corpus, len(rows), name, TESTS[test](before[name].part(rows), now[name].part(rows)))
        for corpus, rows in parts
        for name in now
    ]


def _cells(line: Line) -> list[str]:
    found = line.found
    return [
        line.corpus,
        f"{line.rows:,}",
        LABELS.get(line.metric, line.metric),
        f"{found.baseline:.2f}",
        f"{found.system:.2f}",
        f"{found.difference:+.2f}",
        f"{found.p_value:.4f}{'*' if found.p_value < SURE else ' '}",
    ]


if __name__ == "__main__":
    with one_line_errors("compare"):
        main(sys.argv[1:])
