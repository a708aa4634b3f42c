"""Metrics files as stages write them: there, readable, of the right shape, all numbers finite."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hanyi.artifacts import read_metrics
from hanyi.errors import HanyiError
from hanyi.gate.finding import Finding, failed, passed
from hanyi.params import flatten

CHECK = "metrics"
SCORE, SIGNATURE = "score", "signature"
SCORED = {SCORE: "a number", "ci": "a number", SIGNATURE: "text"}
"""What stands beside every score of metrics/score.json."""


def check_metrics(paths: Sequence[Path]) -> list[Finding]:
    """Check every metrics file; each fault is a finding."""
    faults = [fault for path in paths for fault in _faults(path)]
    return faults or [passed(CHECK, f"{len(paths)} files")]


def numbers(path: Path) -> dict[str, Any]:
    """Give the flat metrics of a file, or nothing when it cannot be read."""
    try:
        return flatten(read_metrics(path))
    except HanyiError:
        return {}


def _faults(path: Path) -> Iterator[Finding]:
    try:
        metrics = read_metrics(path)
    except HanyiError as error:
        yield failed(CHECK, path, str(error).removeprefix(f"{path}: "))
        return
    if not metrics:
        yield failed(CHECK, path, "no metric; run `dvc repro`")
    for name, value in flatten(metrics).items():
        if found := _odd(name, value):
            yield failed(CHECK, path, f"{name}: {found}; run `dvc repro`")
    for name in _scored(metrics):
        yield failed(CHECK, path, f"{name}: missing; run `dvc repro`")


def _odd(name: str, value: object) -> str | None:
    if value == {}:  # nothing of its kind was found
        return None
    if name.rpartition(".")[2] == SIGNATURE:
        return None if isinstance(value, str) and value else f"{value!r}, expected text"
    if not isinstance(value, int | float):  # a truth value is an int
        return f"{value!r}, expected a number"
    return None if math.isfinite(value) else f"{value}, expected a finite number"


def _scored(metrics: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """Give what is missing beside a score, a signature or an interval."""
    if SCORE in metrics or SIGNATURE in metrics:
        yield from (f"{where}{name}" for name in SCORED if name not in metrics)
    for name, inner in metrics.items():
        if isinstance(inner, Mapping):
            yield from _scored(inner, f"{where}{name}.")
