"""The saved states of trainings: what each is of, and taking away those that are not wanted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hanyi.errors import ParamsError
from hanyi.progress import clock
from hanyi.training.state import Generation, StateFolder

SHORT = 8  # characters of a fingerprint that are shown
MIB = 1 << 20
SECONDS_IN_A_DAY = 86_400
UNKNOWN = "?"

COLUMNS = ("run", "update", "of", "epoch", "best", "MiB", "saved", "state")
HISTORY_LEFT_OUT = ("corpora",)


@dataclass(frozen=True, slots=True)
class Run:
    """A training that was begun and whose model is not published."""

    folder: StateFolder
    what: Mapping[str, Any] | None  # its settings and inputs; None: not known
    newest: Generation | None  # None: nothing is saved
    saved: float  # when, or when it began; seconds since 1970
    size: int  # of all of its files, bytes
    in_use: bool

    @property
    def name(self) -> str:
        """Give its fingerprint."""
        return self.folder.path.name

    @property
    def age(self) -> float:
        """Give the time since it was saved, or since it began; seconds."""
        return max(time.time() - self.saved, 0.0)

    @property
    def best(self) -> str:
        """Write the best score by the metric that selects, such as `chrf 41.20`."""
        metric = (self.what or {}).get("sections", {}).get("train", {}).get("select", "loss")
        name = "valid_loss" if metric == "loss" else metric
        values = [row[name] for row in self.newest.history if name in row] if self.newest else []
        if not values:
            return ""
        return f"{metric} {min(values) if metric == 'loss' else max(values):.2f}"

    def row(self) -> tuple[str, ...]:
        """Give what a list shows of it, in the order of `COLUMNS`."""
        steps = (self.what or {}).get("steps", UNKNOWN)
        epoch = None if self.newest is None else self.newest.epoch
        return (
            self.name[:SHORT],
            str(self.newest.step if self.newest else 0),
            str(steps),
            UNKNOWN if epoch is None else str(epoch + 1),
            self.best,
            f"{self.size / MIB:.1f}",
            f"{age(self.age)} ago",
            "training now" if self.in_use else "stopped",
        )


def list_runs(root: Path) -> list[Run]:
    """Give the runs below a folder of states, the newest first."""
    runs = []
    for path in sorted(root.glob("*")):
        if path.is_dir():
            with suppress(FileNotFoundError):  # its model has just been published
                runs.append(_look(StateFolder(path)))
    return sorted(runs, key=lambda run: run.age)


def _look(folder: StateFolder) -> Run:
    newest = next(iter(folder.generations()), None)
    return Run(
        folder=folder,
        what=folder.run(),
        newest=newest,
        saved=newest.saved if newest else folder.path.stat().st_mtime,
        size=_size(folder.path),
        in_use=folder.in_use(),
    )


def find_run(runs: Sequence[Run], prefix: str) -> Run:
    """Give the run whose fingerprint begins so; raise `ParamsError` unless there is just one."""
    found = [run for run in runs if run.name.startswith(prefix)] if prefix else []
    if len(found) != 1:
        what = ", ".join(run.name[:SHORT] for run in found or runs) or "there are none"
        expected = f"the beginning of one of: {what}"
        raise ParamsError(f"run {prefix!r}", f"{len(found)} runs", expected, "see `hanyi runs`")
    return found[0]


def choose(
    runs: Sequence[Run], prefixes: Sequence[str], older_than: float | None, everything: bool
) -> list[Run]:
    """Choose the runs to take away: those named, or all, and of these the old ones.

    `older_than` is in days. Raises `ParamsError` when nothing says which.
    """
    if not prefixes and not everything and older_than is None:
        expected = "names of runs, --older-than or --all"
        raise ParamsError("hanyi runs prune", "nothing to choose by", expected, "give one")
    named = {find_run(runs, prefix).name for prefix in prefixes}
    days = older_than or 0.0
    return [
        run
        for run in runs
        if (not named or run.name in named) and run.age >= days * SECONDS_IN_A_DAY
    ]


def remove(run: Run) -> bool:
    """Remove the state of a run; give False, and leave it, when a trainer holds it by now."""
    if run.folder.in_use():
        return False
    with run.folder.locked():
        run.folder.remove()
    return True


def settings(run: Run) -> Iterator[tuple[str, str]]:
    """Give what is trained as dotted names and values."""
    yield from _flat("", run.what or {})


def history(run: Run) -> list[tuple[str, ...]]:
    """Give the validations as a table whose first row is its header."""
    rows = run.newest.history if run.newest else []
    names = [name for name in rows[0] if name not in HISTORY_LEFT_OUT] if rows else []
    first = [name for name in ("step", "epoch") if name in names]
    ordered = first + [name for name in names if name not in first]
    return [tuple(ordered), *(tuple(_number(row.get(name)) for name in ordered) for row in rows)]


def age(seconds: float) -> str:
    """Write how long ago: as a clock within a day, then in days."""
    if seconds < SECONDS_IN_A_DAY:
        return clock(seconds)
    return f"{seconds / SECONDS_IN_A_DAY:.1f} days"


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key in sorted(value):
            yield from _flat(f"{name}.{key}".lstrip("."), value[key])
    else:
        yield name, str(value)


def _size(path: Path) -> int:
    return sum(_file_size(file) for file in path.rglob("*"))


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:  # a trainer has just dropped an old generation
        return 0
