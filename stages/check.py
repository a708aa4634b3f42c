"""The gate: `python -m stages.check [--baseline REV] [--lock] [--markdown]`; not a stage.

It exits with 0 when what is committed is what was run and its scores hold, 1 with tables that say
why when not, and 2 when it cannot tell.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hanyi.artifacts import parse_metrics
from hanyi.errors import ArtifactError, ParamsError
from hanyi.gate.config import CheckConfig
from hanyi.gate.finding import Finding
from hanyi.gate.lock import check_lock
from hanyi.gate.lockfile import metric_files
from hanyi.gate.merges import check_merges
from hanyi.gate.metrics import check_metrics, numbers
from hanyi.gate.revisions import read_at, require_revision
from hanyi.gate.scores import Verdict, check_signatures, judge
from hanyi.gate.sentences import Measures, read_sentences
from hanyi.languages import Languages
from hanyi.params import flatten, load_section
from hanyi.scoring.config import ScoreConfig
from stages.harness import one_line_errors
from stages.paths import DECODED, METRICS, PREPARED
from stages.tables import Sheet

SCORES = METRICS / "score.json"
FINDING_HEADS = ("check", "where", "verdict")
SCORE_HEADS = ("metric", "value", "floor", "baseline", "max drop", "p", "verdict")
TEXTS = {"check", "where", "metric", "verdict"}


def main(arguments: Sequence[str]) -> int:
    """Print the tables of findings and verdicts; give 0 when all pass, else 1."""
    flags = _parser().parse_args(arguments)
    if flags.lock:
        return _show([*check_lock(), *check_merges()], [], markdown=flags.markdown)
    config = _config(flags)
    findings = [*check_metrics(metric_files()), *check_lock(), *check_merges()]
    current = numbers(SCORES)
    if not current:  # told by the check of the metrics
        return _show(findings, [], markdown=flags.markdown)
    baseline = None if config.baseline is None else _committed(config.baseline)
    if baseline is not None and config.baseline is not None:
        findings += check_signatures(current, baseline, config.baseline)
    sentences = read_sentences(
        DECODED / "test.jsonl",
        PREPARED / "test.parquet",
        Measures(
            config.max_drop if baseline is not None else (),
            load_section("score", ScoreConfig),
            load_section("languages", Languages).tgt,
        ),
        current,
        config.baseline,
    )
    verdicts = judge(current, baseline, config, sentences.compare)
    return _show([*findings, *sentences.findings], verdicts, markdown=flags.markdown)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m stages.check", description="The gate.")
    parser.add_argument("--baseline", metavar="REV", help="git revision, instead of check.baseline")
    parser.add_argument(
        "--floor", metavar="NAME=VALUE", action="append", default=[], help="also check.floors.NAME"
    )
    parser.add_argument(
        "--max-drop", metavar="NAME=VALUE", action="append", default=[], help="of check.max_drop"
    )
    parser.add_argument("--significance", type=float, help="instead of check.significance")
    parser.add_argument("--lock", action="store_true", help="only: is dvc.lock up to date?")
    parser.add_argument("--markdown", action="store_true", help="for a pull request")
    return parser


def _config(flags: argparse.Namespace) -> CheckConfig:
    """Give the section `check` with what the flags change."""
    config = load_section("check", CheckConfig)
    given = {"baseline": flags.baseline, "significance": flags.significance}
    try:
        config = replace(
            config,
            floors={**config.floors, **dict(map(_pair, flags.floor))},
            max_drop={**config.max_drop, **dict(map(_pair, flags.max_drop))},
            **{name: value for name, value in given.items() if value is not None},
        )
    except ValueError as error:
        raise ParamsError("check", str(error), "values in range", "mend the flag") from None
    if not (config.floors or (config.baseline and config.max_drop)):
        found = "no floors, and no baseline with a max_drop"
        raise ParamsError("check", found, "something to hold the scores against", "set one of them")
    return config


def _pair(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    if not name:
        raise ValueError(f"{text} is not NAME=VALUE")
    return name, float(value)


def _committed(revision: str) -> dict[str, Any]:
    """Give the flat scores that a revision holds."""
    require_revision(revision)
    where, text = f"{revision}:{SCORES}", read_at(revision, SCORES)
    if text is None:
        remedy = "commit the scores there or take another revision"
        raise ArtifactError(where, "no such file", "the scores", remedy)
    return flatten(parse_metrics(text, where))


def _show(findings: Sequence[Finding], verdicts: Sequence[Verdict], *, markdown: bool) -> int:
    checks = [(found.passed, [found.check, found.where, found.outcome]) for found in findings]
    scores = [(verdict.passed, _cells(verdict)) for verdict in verdicts]
    lines = [*checks, *scores]
    faults = sum(not good for good, _ in lines)
    result = f"failed: {faults} of {len(lines)}" if faults else "passed"
    parts = [f"**Gate {result}**\n" if markdown else f"gate {result}\n"]
    for heads, rows in ((FINDING_HEADS, checks), (SCORE_HEADS, scores)):
        if not rows:
            continue
        sheet = Sheet(heads, [cells for _, cells in rows], TEXTS)
        marks = [None if good else "red" for good, _ in rows]
        parts.append(sheet.markdown() if markdown else sheet.terminal(marks))
    sys.stdout.write("\n".join(parts))
    return 1 if faults else 0


def _cells(verdict: Verdict) -> list[str]:
    numbers = (verdict.value, verdict.floor, verdict.baseline, verdict.max_drop)
    return [
        verdict.metric,
        *("-" if number is None else f"{number:.3f}" for number in numbers),
        "-" if verdict.p_value is None else f"{verdict.p_value:.4f}",
        verdict.outcome,
    ]


if __name__ == "__main__":
    with one_line_errors("check"):
        raise SystemExit(main(sys.argv[1:]))
