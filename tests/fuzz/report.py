"""What a run of the fuzzer has found, in plain lines and as Markdown."""

from __future__ import annotations

import platform
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from pyexpat import EXPAT_VERSION

from hanyi.corpus.formats import FORMATS
from tests.fuzz.cases import Case
from tests.fuzz.children import MEMORY, SECONDS, Result

HEADING = "## The last run"
"""Everything from here on in the log is written anew."""

STAGES = {
    "parameters": "refused by the parameters",
    "fetch": "refused by fetch",
    "prepare": "refused by prepare",
    "kept": "prepared",
    "found": "findings",
}
PACKAGES = ("numpy", "pyarrow", "polib", "charset-normalizer", "langcodes", "opencc")


@dataclass
class Report:
    """Counts by format of the seed, and the findings, each kind once."""

    cases: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    rows: int = 0
    kept: int = 0
    slowest: float = 0.0
    peak: int = 0
    findings: dict[str, list[str]] = field(default_factory=dict)

    def add(self, case: Case, result: Result) -> None:
        """Count a case; print a finding."""
        self.cases[case.format][result.stage] += 1
        self.rows += result.rows
        self.kept += result.kept
        self.slowest = max(self.slowest, result.seconds)
        self.peak = max(self.peak, result.peak)
        if result.finding:
            kind = re.sub(r"\d+", "n", result.finding)[:120]
            self.findings.setdefault(kind, []).append(f"{result.finding}; {case}")
            print(f"finding: {result.finding}; {case}", flush=True)

    @property
    def total(self) -> int:
        """Count all cases."""
        return sum(counts.total() for counts in self.cases.values())

    def line(self) -> str:
        """Say in one line how far it is."""
        sums = sum(self.cases.values(), Counter[str]())
        told = ", ".join(f"{sums[stage]} {words}" for stage, words in STAGES.items())
        return f"{self.total} cases: {told}"

    def markdown(self, command: str, seconds: float) -> str:
        """Give the log: without names of machines and places."""
        told = (
            f"`{command}`: {self.total:,} cases in {seconds:,.0f} seconds, one after the other,"
            f" each in a process with {SECONDS} seconds and {MEMORY >> 30} GiB. Rows read"
            f" {self.rows:,}, kept {self.kept:,}. The slowest case took {self.slowest:.1f} seconds,"
            f" the largest {self.peak / 1e6:,.0f} MB."
        )
        head = f"| seed file | cases | {' | '.join(STAGES.values())} |"
        lines = [HEADING, "", told, "", head, "|---" * (2 + len(STAGES)) + "|"]
        for format_ in FORMATS:
            counts = self.cases[format_]
            lines.append(_row(format_, counts))
        lines += [_row("all", sum(self.cases.values(), Counter[str]())), "", "Findings:", ""]
        lines += [f"* {len(found)} times: {found[0]}" for found in self.findings.values()] or [
            "none."
        ]
        versions = [
            f"Python {platform.python_version()}",
            f"Expat {EXPAT_VERSION.removeprefix('expat_')}",
        ]
        versions += [f"{name} {version(name)}" for name in PACKAGES]
        return "\n".join([*lines, "", f"Versions: {', '.join(versions)}.", ""])


def _row(name: str, counts: Counter[str]) -> str:
    numbers = [counts.total(), *(counts[stage] for stage in STAGES)]
    return f"| {name} | " + " | ".join(map("{:,}".format, numbers)) + " |"


def write_log(path: Path, text: str) -> None:
    """Put a run in the place of the last one in the log."""
    before = path.read_text(encoding="utf-8") if path.exists() else "# Fuzzing\n\n"
    path.write_text(before.partition(HEADING)[0] + text, encoding="utf-8", newline="\n")
