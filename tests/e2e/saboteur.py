"""Run a stage and let something happen in its midst: `python saboteur.py STAGE FUNCTION WHEN WHAT`.

FUNCTION is a dotted name, for instance `os.replace`; WHEN is the number of the call, from 1, or a
word in its arguments; WHAT is `disk-full`, or a signal to this very process, before or after the
call: `kill-before`, `kill-after`, `term-before`, `term-after`.

Flags of the stage may follow.

`python saboteur.py STAGE --count FILE FUNCTION...` lets nothing happen, but counts the calls, and
writes the counts into a JSON file when the stage has ended.
"""

from __future__ import annotations

import errno
import json
import os
import pkgutil
import runpy
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM}


def main() -> None:
    """Wrap functions, then run the stage as `python -m` would."""
    stage, *rest = sys.argv[1:]
    sys.path[0] = ""
    import stages  # noqa: F401  (puts this workspace's library first on the path)

    if rest[0] == "--count":
        with counted(Path(rest[1]), rest[2:]):
            run(stage)
    else:
        sabotage(*rest[:3])
        run(stage, rest[3:])


def run(stage: str, flags: Sequence[str] = ()) -> None:
    """Run a stage."""
    sys.argv = [stage, *flags]
    runpy.run_module(f"stages.{stage}", run_name="__main__", alter_sys=True)


def sabotage(function: str, when: str, what: str) -> None:
    """Let something happen at one call of a function."""
    calls = 0
    kind, _, place = what.partition("-")

    def strike() -> None:
        if what == "disk-full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), function)
        os.kill(os.getpid(), SIGNALS[kind])

    def wrapped(original: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        now = calls == int(when) if when.isdigit() else when in str(arguments)
        if now and place != "after":
            strike()
        result = original(*arguments, **options)
        if now and place == "after":
            strike()
        return result

    wrap(function, wrapped)


@contextmanager
def counted(file: Path, functions: list[str]) -> Iterator[None]:
    """Count the calls of functions, and write the counts in the end."""
    counts: Counter[str] = Counter()

    def counter(name: str) -> Callable[..., Any]:
        def wrapped(original: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
            counts[name] += 1
            return original(*arguments, **options)

        return wrapped

    for name in functions:
        wrap(name, counter(name))
    yield
    file.write_text(json.dumps(counts), encoding="utf-8", newline="\n")


def wrap(function: str, wrapped: Callable[..., Any]) -> None:
    """Put `wrapped(original, ...)` in the place of a function or method."""
    place, _, name = function.rpartition(".")
    owner = pkgutil.resolve_name(place)
    original = getattr(owner, name)
    # A plain function, so that it binds as a method where the original does.
    setattr(owner, name, lambda *arguments, **options: wrapped(original, *arguments, **options))


if __name__ == "__main__":
    main()
