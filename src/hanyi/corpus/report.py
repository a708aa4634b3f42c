"""What people look at after `prepare`: funnel and lengths as pictures, samples of each step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hanyi.corpus import size_charts
from hanyi.corpus.charts import write_csv, write_pictures
from hanyi.corpus.funnel import Funnel, Step, changed, percent
from hanyi.corpus.samples import LONGEST, Rejection, Repair

FILES = (
    *("funnel.png", "funnel.svg", "funnel.csv"),
    *("lengths.png", "lengths.svg", "lengths.csv"),
    "samples.md",
)
NOTE = (
    "Samples of each step: chosen by a hash of the row's number, which favours no kind of row.",
    "The source stands above the target, the text before a repair above the one after it.",
    f"Texts end after {LONGEST} characters; ⟨U+200B⟩ stands for an invisible character, ␣ for",
    "a space at an end or in a run. All rejected rows are in `rejected.parquet`.",
    "",
)
SIDES = {"src": "source", "tgt": "target"}


def write_report(directory: Path, funnel: Funnel) -> None:
    """Write every file of `FILES`; their bytes depend on nothing but the rows."""
    read = funnel.read.total()
    steps = funnel.steps()
    write_pictures(directory, steps, read)
    write_csv(directory / "funnel.csv", steps, read)
    size_charts.write_pictures(directory, funnel.sizes)
    size_charts.write_csv(directory / "lengths.csv", funnel.sizes)
    write_samples(directory / "samples.md", funnel)


def write_samples(path: Path, funnel: Funnel) -> None:
    """Write the table of the funnel and samples of each step as Markdown."""
    lines = [
        "# What prepare rejected and repaired",
        "",
        *_block(funnel.table()),
        *NOTE,
    ]
    for step in funnel.steps():
        if step.taken or step.src or step.tgt:
            lines += _section(step, funnel)
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")


def _section(step: Step, funnel: Funnel) -> Iterator[str]:
    yield from (f"## {step.name}", "")
    if changes := funnel.changes(step.name):
        yield from (f"Changed {changed(step)}{_shown(len(changes), step.src + step.tgt)}.", "")
        yield from _block(line for item in changes for line in _repair(item))
    if rejections := funnel.rejections(step.name):
        share = percent(step.taken, funnel.read.total())
        shown = _shown(len(rejections), step.taken)
        yield from (f"Rejected {step.taken:,} rows, {share}{shown}.", "")
        yield from _block(line for item in rejections for line in _rejection(item))


def _shown(samples: int, of: int) -> str:
    return "" if samples == of else f"; {samples} of them"


def _rejection(sample: Rejection) -> list[str]:
    return [f"{sample.file}:{sample.line}", f"  {sample.src}", f"  {sample.tgt}", ""]


def _repair(sample: Repair) -> list[str]:
    where = f"row {sample.id:,}, {SIDES[sample.side]}"
    return [where, f"  {sample.before}", f"  {sample.after}", ""]


def _block(lines: Iterator[str] | list[str]) -> list[str]:
    # Nothing inside is taken for Markdown: no text begins its line, so none can end the block.
    return ["```text", *"\n".join(lines).rstrip("\n").split("\n"), "```", ""]
