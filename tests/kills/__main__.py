"""Kill trainings at random moments and resume them: `python -m tests.kills --kills 30 --seed 1`.

A tiny model is trained once without a break. Then, for each moment, the same training begins in a
folder of its own, is killed in a part of it (data, forward pass, backward pass, optimizer,
validation, saving, publishing, or at any time), and is started again until it is done; a part of
them is killed once more while it goes on. All published files must have the bytes of the unbroken
run. Prints a Markdown table; ends with 1 if there is any difference.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tests.kills.moments import LOOP, Moment, draw
from tests.kills.workshop import Ended, Workshop

AGAIN = 0.3  # share of trainings that are killed once more

# A stop that is asked for before or after the training proper ends with 128 plus the number of the
# signal; while the model is published it comes too late, and the stage ends as if it had not come.
ALLOWED = {"kill": {-9, 0}, "term": {75, 143, -15, 0}}


def main() -> int:
    """Give 1 when a training that was resumed ended otherwise than the unbroken one."""
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        fresh = Workshop.make(Path(folder))
        unbroken = fresh.copy(Path(folder) / "unbroken")
        counts = unbroken.count()
        expected = unbroken.digests()
        begun = time.monotonic()
        if fresh.copy(Path(folder) / "again").train().code:
            raise RuntimeError("an unbroken run must end with 0")
        seconds = time.monotonic() - begun
        print("| | killed at | signal | exit code | then | equal |")
        print("|---|---|---|---|---|---|", flush=True)
        for number in range(arguments.kills):
            rng = np.random.default_rng([arguments.seed, number])
            place = fresh.copy(Path(folder) / str(number))
            told, fault = attempt(place, rng, number, counts, seconds, expected)
            faults += bool(fault)
            print(f"| {number + 1} | {told} | {fault or 'yes'} |", flush=True)
    print(f"\n{arguments.kills} trainings killed, {faults} ended otherwise than the unbroken one")
    return 1 if faults else 0


def attempt(
    place: Workshop,
    rng: np.random.Generator,
    number: int,
    counts: Mapping[str, int],
    seconds: float,
    expected: Mapping[str, str],
) -> tuple[str, str]:
    """Kill a training once or twice and let it go on to its end; tell how, and what was wrong."""
    moment = draw(rng, number, counts, seconds)
    last = place.kill(moment)
    fault = wrong(moment, last)
    told = f"{moment} | SIG{moment.signal.upper()} | {last.code}"
    then = []
    if last.code and rng.random() < AGAIN:
        second = draw(rng, int(rng.integers(100)), counts, seconds)
        last = place.kill(second)
        fault = fault or wrong(second, last)
        then.append(f"from {last.begun}, {second}, SIG{second.signal.upper()}: {last.code}")
    if last.code:
        last = place.train()
        then.append(f"from {last.begun}")
    if last.code:
        fault = fault or f"resumed run ended with {last.code}: {last.text.splitlines()[-1:]}"
    found = place.digests()
    names = sorted(
        name for name in found.keys() | expected if found.get(name) != expected.get(name)
    )
    return f"{told} | {'; '.join(then) or 'it was done'}", fault or (
        f"no: {', '.join(names)}" if names else ""
    )


def wrong(moment: Moment, ended: Ended) -> str:
    """Tell what is wrong about how a training ended that was killed, empty: nothing."""
    if "Traceback" in ended.text:
        return f"a traceback: {ended.text.splitlines()[-1]}"
    allowed = ALLOWED[moment.signal]
    if moment.signal == "term" and moment.part in LOOP:
        allowed = {75, 0}
    return "" if ended.code in allowed else f"ended with {ended.code}"


if __name__ == "__main__":
    sys.exit(main())
