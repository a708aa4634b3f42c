"""Our training step beside that of other toolkits: `.venv/bin/python -m benchmarks.train`.

The same sentences, encoded once by our tokenizers, the same sizes of model and batch, the same
threads, one after the other in one run, each in an environment of its own that
`sh benchmarks/peers/install.sh` makes. Ours is measured before and after each of them, and the
ratio is to the mean of both. Real target tokens are counted by one meter, PAD left out, over the
time of steady steps. Prints a Markdown table, row by row.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.peers.corpus import build
from benchmarks.peers.task import Handed, Task
from benchmarks.peers.work import matmul_peak, training_flops
from hanyi.errors import HanyiError
from hanyi.model.devices import autocast_dtype, prepare_torch

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / ".peers"
UNLOCKED = {"LD_PRELOAD": str(ENVIRONMENTS / "mkl_unlocked.so")}
LONGEST = 900.0  # seconds of one training, start included

SIZES: dict[str, dict[str, int]] = {
    "small": {"vocab": 8000, "d_model": 256, "d_ff": 1024, "heads": 4, "layers": 3},
    "base": {"vocab": 32000, "d_model": 512, "d_ff": 2048, "heads": 8, "layers": 6},
}
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
BOTH = ("fp32", "bf16")

OWN = ("ours", "tutorial")  # need nothing but our own environment

Found = dict[str, Any]


@dataclass(frozen=True)
class System:
    """A toolkit, or one way to run it."""

    name: str
    runner: str  # module of benchmarks.peers, and folder of its environment
    precisions: tuple[str, ...] = BOTH
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def python(self) -> Path:
        """Give the Python that runs it."""
        own = Path(sys.executable)
        return own if self.runner in OWN else ENVIRONMENTS / self.runner / "bin/python"

    @property
    def missing(self) -> str | None:
        """Say why it cannot run here, None if it can."""
        reason = ENVIRONMENTS / f"{self.runner}.reason"
        if reason.exists():
            return reason.read_text(encoding="utf-8").strip()
        needed = [self.python, *map(Path, self.environment.values())]
        return None if all(path.exists() for path in needed) else "not installed"


OURS = System("Hanyi", "ours")
PEERS = (
    System("Eole", "eole"),
    System("fairseq", "fairseq", ("fp32",)),
    System("fairseq, MKL unlocked", "fairseq", ("fp32",), UNLOCKED),
    System("Hugging Face Marian", "marian"),
    System("tutorial loop", "tutorial"),
    System("OpenNMT-py", "opennmt", ("fp32",)),
    System("JoeyNMT", "joeynmt", ("fp32",)),
)


class Failed(Exception):  # noqa: N818  a row of the table, not an error
    """A system that could not be measured, with its reason."""


class Race:
    """Runs systems one at a time on one corpus, and prints what it finds."""

    def __init__(self, task: Task, folder: Path, threads: int, peak: float) -> None:
        self.task = task
        self.folder = folder
        self.threads = threads
        self.peak = peak  # operations a second

    def measure(self, system: System) -> Found:
        """Train with a system for a while; raises `Failed`."""
        places = self._places(system)
        found = self._launch(system, replace(self.task, **places, begun=time.time()))
        found["speed"] = found["tgt_tokens"] / found["seconds"]
        return found

    def _places(self, system: System) -> dict[str, str]:
        """Give an empty folder and a file for the result, by their names in a task."""
        if system.missing:
            raise Failed(system.missing)
        folder, result = self.folder / "run", self.folder / "result.json"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        result.unlink(missing_ok=True)
        return {"folder": str(folder), "result": str(result)}

    def _launch(self, system: System, task: Handed) -> Found:
        """Hand a task to the runner of a system, and give what it left."""
        result, task_file = Path(task.result), self.folder / "task.json"
        log = self.folder / f"{system.runner}.log"
        task.write(task_file)
        self._run(system, task_file, log)
        if not result.exists():
            raise Failed(last_line(log))
        found: Found = json.loads(result.read_text(encoding="utf-8"))
        return found

    def _run(self, system: System, task_file: Path, log: Path) -> None:
        environment = {
            **os.environ,
            **system.environment,
            "OMP_NUM_THREADS": str(self.threads),
            "HANYI_TRACKING": "off",
            "HF_HUB_OFFLINE": "1",
            "PYTHONUNBUFFERED": "1",
        }
        command = [system.python, "-m", f"benchmarks.peers.{system.runner}", task_file]
        with log.open("w", encoding="utf-8") as out:
            child = subprocess.Popen(
                [str(part) for part in command],
                cwd=ROOT,
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                child.wait(LONGEST)
            except subprocess.TimeoutExpired:
                raise Failed(f"not done in {LONGEST:.0f} s") from None
            finally:
                # With its workers, which would take time from the next one.
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()

    def rows(self, peers: tuple[System, ...]) -> Iterator[str]:
        """Give the rows of the table: each peer between two runs of ours, ours last."""
        own = [self.measure(OURS)]
        for peer in peers:
            if self.task.precision not in peer.precisions:
                continue
            try:
                found = self.measure(peer)
            except Failed as why:
                yield f"| {peer.name} | | {self.task.precision} | {why} |" + " |" * 5
                continue
            own.append(self.measure(OURS))
            mean = (own[-2]["speed"] + own[-1]["speed"]) / 2
            yield self._row(peer.name, found, mean)
        speeds = sorted(found["speed"] for found in own)
        median = next(found for found in own if found["speed"] == speeds[len(speeds) // 2])
        yield self._row(OURS.name, median, median["speed"])
        yield f"\n{len(own)} runs of ours: {speeds[0]:,.0f} to {speeds[-1]:,.0f} tokens a second\n"

    def _row(self, name: str, found: Found, own: float) -> str:
        places = found["src_places"] + found["tgt_places"]
        cells = (
            name,
            f"{found['version']} (torch {found['torch']})",
            self.task.precision,
            f"{found['speed']:,.0f}",
            f"x{own / found['speed']:.2f}",
            f"{1 - (found['src_tokens'] + found['tgt_tokens']) / places:.1%}",
            f"{training_flops(self.task, found) / found['seconds'] / self.peak:.1%}",
            f"{found['first']:.1f} s",
            f"{found['between'] / found['seconds']:.1%}",
        )
        return "| " + " | ".join(cells) + " |"


def last_line(log: Path) -> str:
    """Give what a system said at last."""
    lines = [
        line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()
    ]
    last = next((line for line in reversed(lines) if line), "ended without a word")
    return last.replace("|", "/")[:200]


COLUMNS = (
    "system",
    "version",
    "precision",
    "target tokens/s",
    "ours is",
    "padding",
    "of GEMM peak",
    "first update",
    "outside updates",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"


def main() -> None:
    """Measure and print."""
    chosen = _arguments()
    torch.set_num_threads(chosen.threads)
    prepare_torch()
    size = dict(SIZES[chosen.size])
    folder = Path(tempfile.mkdtemp(prefix="race-", dir=chosen.work))
    peers = tuple(peer for peer in PEERS if not chosen.only or peer.runner in chosen.only)
    try:
        corpus = folder / "corpus"
        vocab = size.pop("vocab")
        sizes = build(corpus, chosen.corpus, tuple(chosen.columns), chosen.pairs, vocab)
        task = Task(
            corpus=str(corpus),
            folder="",
            result="",
            begun=0.0,
            precision="",
            src_vocab=sizes[0],
            tgt_vocab=sizes[1],
            **size,
            batch_tokens=chosen.batch_tokens,
            warm_up=chosen.warm_up,
            settle=chosen.settle,
            updates=chosen.updates,
            seconds=chosen.seconds,
        )
        print(f"{chosen.size}, vocabularies {sizes[0]} + {sizes[1]}, {chosen.threads} threads\n")
        for precision in _precisions(chosen.precision):
            peak = matmul_peak(DTYPES[precision])
            print(f"GEMM peak in {precision}: {peak / 1e9:,.0f} GFLOP/s\n\n{HEAD}", flush=True)
            race = Race(replace(task, precision=precision), folder, chosen.threads, peak)
            for row in race.rows(peers):
                print(row, flush=True)
    except (HanyiError, Failed) as error:  # of the corpus, or of our own training
        sys.exit(str(error))
    finally:
        if not chosen.keep:
            shutil.rmtree(folder)


def _precisions(chosen: str) -> Iterator[str]:
    for precision in BOTH if chosen == "both" else (chosen,):
        if precision == "bf16" and autocast_dtype(torch.device("cpu")) is None:
            print("bf16 left out: this CPU has neither avx512_bf16 nor amx_bf16\n")
        else:
            yield precision


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add(
        "--corpus",
        type=Path,
        help="folder of *.tsv, *.tsv.gz, or *.src and *.tgt; else data/prepared",
    )
    add(
        "--columns",
        type=int,
        nargs=2,
        default=(0, 1),
        metavar=("SRC", "TGT"),
        help="of a TSV file, from 0",
    )
    add("--pairs", type=int, default=100_000, help="of the corpus, at most")
    add("--size", choices=SIZES, default="small")
    add("--batch-tokens", type=int, default=4096, help="padded tokens of a side in a batch")
    add("--precision", choices=(*BOTH, "both"), default="both")
    add("--only", nargs="*", help="runners, such as eole fairseq")
    add("--threads", type=int, default=os.cpu_count())
    add("--warm-up", type=int, default=3, help="updates that are not measured")
    add("--settle", type=float, default=5.0, help="seconds that are not measured, at least")
    add("--updates", type=int, default=5, help="measured in each run, at least")
    add("--seconds", type=float, default=20.0, help="measured in each run, at least")
    add("--work", type=Path, help="folder for temporary files")
    add("--keep", action="store_true", help="leave the temporary files, logs among them")
    return parser.parse_args()


if __name__ == "__main__":
    main()
