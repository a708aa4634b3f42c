"""A run as one page: `python -m stages.report [--baseline BASELINE] [-o FILE]`; not a stage.

The page tells of the run in the workspace; beside it stands the run of a git revision or of a DVC
experiment, or the translations of a file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hanyi.artifacts import write_text
from hanyi.errors import ArtifactError, HanyiError
from hanyi.params import PARAMS_FILE
from hanyi.report.baseline import Baseline
from hanyi.report.page import page
from hanyi.report.run import SENTENCES, Run, read_run, read_yaml, workspace
from hanyi.revisions import Revision, file_at
from hanyi.scoring.baselines import read_baseline
from hanyi.scoring.pairing import read_pairs
from stages.compare import compare_texts
from stages.harness import one_line_errors
from stages.paths import DECODED, METRICS, PREPARED

TARGET = METRICS / "report.html"
ALL = "all but its translations"


def main(arguments: Sequence[str]) -> None:
    """Write the page and say where it is."""
    parser = argparse.ArgumentParser(prog="python -m stages.report", description="A run as a page.")
    parser.add_argument("--baseline", help="git revision, DVC experiment or decoded file")
    parser.add_argument("-o", "--output", type=Path, default=TARGET, help=f"usually {TARGET}")
    flags = parser.parse_args(arguments)
    run = read_run(workspace)
    if not run.metrics["score"] or run.sentences is None:
        raise ArtifactError(SENTENCES.parent, "no scores", "a run that is built", "run `dvc repro`")
    baseline = held_against(flags.baseline, run) if flags.baseline else None
    write_text(flags.output, page(run, baseline, committed()))
    sys.stdout.write(f"{flags.output}\n")


def held_against(name: str, run: Run) -> Baseline:
    """Give the baseline of a name; raise `HanyiError` when it cannot be compared with."""
    decoded, prepared = DECODED / "test.jsonl", PREPARED / "test.parquet"
    pairs = read_pairs(decoded, prepared)
    scored = run.sentences.column("hypothesis").to_pylist() if run.sentences is not None else []
    if scored != [pair.hypothesis for pair in pairs]:
        raise ArtifactError(
            SENTENCES, "other translations", f"those of {decoded}", "run `dvc repro`"
        )
    texts = read_baseline(name, pairs, decoded, prepared)
    compared = compare_texts(pairs, texts, "bootstrap")
    there = Run(lacking=[ALL]) if Path(name).is_file() else read_run(Revision(name).read)
    return Baseline(name=name, texts=texts, compared=compared, run=there)


def committed() -> Mapping[str, Any] | None:
    """Give the parameters of git's HEAD, or None where there is none."""
    try:
        return read_yaml(file_at("HEAD", PARAMS_FILE, Path()))
    except HanyiError:
        return None


if __name__ == "__main__":
    with one_line_errors("report"):
        main(sys.argv[1:])
