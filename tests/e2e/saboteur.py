"""Run a stage and let something happen in its midst: `python saboteur.py STAGE FUNCTION WHEN WHAT`.

FUNCTION is a dotted name, for instance `os.replace`; WHEN is the number of the call, from 1, or a
word in its arguments; WHAT is `kill-before`, `kill-after` (this very process, by SIGKILL) or
`disk-full`.
"""

from __future__ import annotations

import errno
import os
import pkgutil
import runpy
import signal
import sys
from typing import Any


def main() -> None:
    """Wrap the function, then run the stage as `python -m` would."""
    stage, function, when, what = sys.argv[1:]
    sys.path[0] = ""
    import stages  # noqa: F401  (puts this workspace's library first on the path)

    place, _, name = function.rpartition(".")
    owner = pkgutil.resolve_name(place)
    original = getattr(owner, name)
    calls = 0

    def wrapped(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        now = calls == int(when) if when.isdigit() else when in str(arguments)
        if now and what == "kill-before":
            os.kill(os.getpid(), signal.SIGKILL)
        if now and what == "disk-full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(arguments[0]))
        result = original(*arguments, **options)
        if now and what == "kill-after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, wrapped)
    sys.argv = [stage]
    runpy.run_module(f"stages.{stage}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
