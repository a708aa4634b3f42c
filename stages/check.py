"""The gate: `python -m stages.check [--baseline REV] [--markdown]`; not a stage of the pipeline.

It exits with 0 when the scores of the workspace hold, 1 with the same table when they do not, and 2
when it cannot tell.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from hanyi.artifacts import parse_metrics, read_metrics
from hanyi.errors import ArtifactError, ParamsError
from hanyi.params import flatten, load_section
from hanyi.scoring.gate import CheckConfig, Verdict, judge
from stages.harness import one_line_errors
from stages.paths import METRICS

SCORES = METRICS / "score.json"
HEADS = ("metric", "value", "floor", "baseline", "max drop", "verdict")


def main(arguments: Sequence[str]) -> int:
    """Print the table of verdicts; give 0 when all pass, else 1."""
    parser = argparse.ArgumentParser(prog="python -m stages.check", description="The gate.")
    parser.add_argument("--baseline", metavar="REV", help="git revision, instead of check.baseline")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    flags = parser.parse_args(arguments)
    config = load_section("check", CheckConfig)
    revision = flags.baseline or config.baseline
    if not (config.floors or (revision and config.max_drop)):
        found = "no floors, and no baseline with a max_drop"
        raise ParamsError("check", found, "something to hold the scores against", "set one of them")
    current = flatten(read_metrics(SCORES))
    baseline = flatten(_committed(revision)) if revision else None
    verdicts = judge(current, baseline, config)
    sys.stdout.write(_markdown(verdicts) if flags.markdown else _table(verdicts))
    return 0 if all(verdict.passed for verdict in verdicts) else 1


def _committed(revision: str) -> dict[str, Any]:
    try:
        _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except subprocess.CalledProcessError:
        remedy = "fetch it or mend check.baseline"
        raise ParamsError("baseline", f"no revision {revision}", "a git revision", remedy) from None
    except FileNotFoundError:
        raise ParamsError("baseline", "git is missing", "it installed", "install git") from None
    where = f"{revision}:{SCORES}"
    try:
        text = _git("show", f"{revision}:./{SCORES.as_posix()}")
    except subprocess.CalledProcessError:
        remedy = "commit the scores there or take another revision"
        raise ArtifactError(where, "no such file", "the scores", remedy) from None
    return parse_metrics(text, where)


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout


def _cells(verdict: Verdict) -> list[str]:
    numbers = (verdict.value, verdict.floor, verdict.baseline, verdict.max_drop)
    return [
        verdict.metric,
        *("-" if number is None else f"{number:.3f}" for number in numbers),
        verdict.outcome,
    ]


def _markdown(verdicts: Sequence[Verdict]) -> str:
    rows = [HEADS, ["---", *["---:"] * 4, "---"], *(_cells(verdict) for verdict in verdicts)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _table(verdicts: Sequence[Verdict]) -> str:
    table = Table(box=None, pad_edge=False)
    for head in HEADS:
        sides = head in {"metric", "verdict"}
        table.add_column(head, justify="left" if sides else "right", overflow="fold")
    for verdict in verdicts:
        table.add_row(*_cells(verdict), style=None if verdict.passed else "red")
    console = Console()
    with console.capture() as captured:
        console.print(table)
    return captured.get()


if __name__ == "__main__":
    with one_line_errors("check"):
        raise SystemExit(main(sys.argv[1:]))
