"""Throw spoilt files of every format at fetch and prepare: `python -m tests.fuzz --minutes 10`.

A case is known by the seed and its number: `--only 17` tries the one of that number again, with its
traceback, and `--keep FOLDER` leaves its files there.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.cases import make_case
from tests.fuzz.check import try_case
from tests.fuzz.children import run_case
from tests.fuzz.report import Report, write_log

SECONDS_BETWEEN_LINES = 30


def main() -> int:
    """Run until the time is up; give 1 when something was found."""
    arguments = _arguments()
    if arguments.only is not None:
        return _try_again(arguments.seed, arguments.only, arguments.keep)
    report = Report()
    begun = told = time.monotonic()
    for number in itertools.count(arguments.first):
        seconds = time.monotonic() - begun
        if seconds > 60 * arguments.minutes:
            break
        case = make_case(arguments.seed, number)
        report.add(case, run_case(case))
        if time.monotonic() - told > SECONDS_BETWEEN_LINES:
            told = time.monotonic()
            print(f"{seconds:.0f} seconds, {report.line()}", flush=True)
    print(report.line())
    if arguments.log:
        command = f"python -m tests.fuzz --minutes {arguments.minutes:g} --seed {arguments.seed}"
        write_log(arguments.log, report.markdown(command, seconds))
    return 1 if report.findings else 0


def _try_again(seed: int, number: int, keep: Path | None) -> int:
    case = make_case(seed, number)
    print(case, {name: len(content) for name, content in case.files.items()})
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        for name, content in case.files.items():
            (keep / name).write_bytes(content)
    with tempfile.TemporaryDirectory() as place:
        print(try_case(case, Path(place)))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="try one case alone")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="with --only: keep its files")
    parser.add_argument("--log", type=Path, help="Markdown file to write the outcome into")
    return parser.parse_args()


if __name__ == "__main__":
    # Threads of the parent would not be in the children, which then would wait for them.
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.exit(main())
