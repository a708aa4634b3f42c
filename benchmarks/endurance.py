"""Watch memory and open files of a long training: `python -m benchmarks.endurance --minutes 60`.

A tiny model is trained by `stages.train` in a process of its own, as many small updates as the time
allows, with validations and saves in short turn, so that a leak of any of them would show. The
slope is that of a straight line through the samples after the first five minutes. The history of
validations is part of the run and grows with it; its size is told beside. Linux only.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.training import make_corpus, write_params

ROOT = Path(__file__).resolve().parents[1]
SECONDS_BETWEEN_SAMPLES = 5.0
MINUTES_IN_A_ROW = 5
MIB = 1 << 20

SETTINGS = {
    "batch_tokens": 400,
    "max_steps": 10**9,
    "learning_rate": 0.001,
    "validate_every": 200,
    "save_every": 100,
    "average": 3,
}


class Sample(NamedTuple):
    """What a process holds at one time."""

    seconds: float  # since its start
    memory: float  # resident, MiB
    files: int  # open descriptors
    saved: int  # updates in the newest state
    state: float  # of that state, MiB


def newest_state(place: Path) -> tuple[int, float]:
    """Give the update and the size, MiB, of the newest state; zeros where there is none."""
    for file in sorted(place.glob(".hanyi/train/*/step-*/state.pt"), reverse=True):
        with suppress(FileNotFoundError):  # dropped between two looks
            return int(file.parent.name.removeprefix("step-")), file.stat().st_size / MIB
    return 0, 0.0


def sample(process: int, begun: float, place: Path) -> Sample:
    """Look at a process; raises `FileNotFoundError` when it is gone."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    if not found:  # ended, and not yet waited for
        raise FileNotFoundError(process)
    saved, size = newest_state(place)
    files = len(list(Path(f"/proc/{process}/fd").iterdir()))
    return Sample(time.monotonic() - begun, int(found[1]) / 1024, files, saved, size)


def watch(place: Path, minutes: float) -> list[Sample]:
    """Train for some minutes and give what was seen; ends the training by SIGTERM."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HANYI_DEVICE": "cpu",
        "HANYI_TRACKING": "off",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    }
    seen: list[Sample] = []
    with (place / "log.txt").open("w", encoding="utf-8") as log:
        trainer = subprocess.Popen(
            [sys.executable, "-m", "stages.train"], cwd=place, env=environment, stderr=log
        )
        begun = time.monotonic()
        try:
            while time.monotonic() - begun < 60 * minutes and trainer.poll() is None:
                time.sleep(SECONDS_BETWEEN_SAMPLES)
                seen.append(sample(trainer.pid, begun, place))
                if row_is_full(seen):
                    print(row(seen), flush=True)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it ended by itself, which its exit code tells
        finally:
            trainer.send_signal(signal.SIGTERM)
            code = trainer.wait()
    if code != 75:
        print((place / "log.txt").read_text(encoding="utf-8")[-2000:])
        sys.exit(f"the training ended with {code} where 75 was expected")
    return seen


def row_is_full(seen: list[Sample]) -> bool:
    """Tell whether the last sample is the first one of another row."""
    rows = [int(one.seconds // (60 * MINUTES_IN_A_ROW)) for one in seen[-2:]]
    return len(rows) == 2 and rows[0] != rows[1]


def row(seen: list[Sample]) -> str:
    """Give the row of the table that ends before the last sample."""
    number = int(seen[-2].seconds // (60 * MINUTES_IN_A_ROW))
    inside = [one for one in seen if one.seconds // (60 * MINUTES_IN_A_ROW) == number]
    memory = [one.memory for one in inside]
    last = inside[-1]
    return (
        f"| {MINUTES_IN_A_ROW * number} to {MINUTES_IN_A_ROW * (number + 1)} "
        f"| {np.mean(memory):.1f} | {max(memory):.1f} | {max(one.files for one in inside)} "
        f"| {last.saved:,} | {last.state:.2f} |"
    )


def slope(seen: list[Sample]) -> float:
    """Give the growth of memory after the first row, MiB an hour."""
    late = [one for one in seen if one.seconds > 60 * MINUTES_IN_A_ROW]
    if len(late) < 2:
        return float("nan")
    hours = np.array([one.seconds for one in late]) / 3600
    return float(np.polyfit(hours, [one.memory for one in late], 1)[0])


def main() -> None:
    """Measure, and print the table while it grows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endurance", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    minutes = parser.parse_args().minutes
    with tempfile.TemporaryDirectory() as folder:
        place = make_corpus(Path(folder), train=2000, valid=50)
        write_params(place, **SETTINGS)
        print("| minutes | memory, MiB, mean | most | open files, most | updates | state, MiB |")
        print("|---|---|---|---|---|---|", flush=True)
        seen = watch(place, minutes)
    print(
        f"\n{seen[-1].saved:,} updates, a validation every {SETTINGS['validate_every']}, ", end=""
    )
    print(f"a save every {SETTINGS['save_every']}; memory grows by {slope(seen):.1f} MiB an hour")


if __name__ == "__main__":
    main()
