"""What one GPU gives, in ten minutes: `.venv/bin/python -m benchmarks.gpu --corpus train.tsv.gz`.

First it checks that the GPU computes what the CPU does, then it measures target tokens a second,
the share of the matrix product's peak and memory, and for the remaining minutes it trains the base
preset on the corpus (English in column 0, Chinese in column 1, as `--columns` says), decodes the
test split and scores it. Prints Markdown, and writes `gpu.json` into the folder $OUT if that is
set. `--cpu-rehearsal` does all of it in a tiny size on the CPU, to try the script itself.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import gpu_checks as checks
from benchmarks.gpu_checks import Learner, Sentences, Sizes
from benchmarks.gpu_training import Plan, Result, train
from hanyi.model.devices import autocast_dtype, prepare_torch
from hanyi.training.data import Tensors

WARM = 3  # steps that are not counted
WAYS = (("plain", 1), ("compiled", 1), ("compiled, filled up to 8", 8))
TRAINING_LEAST = 60.0  # seconds worth beginning for


class Scale(NamedTuple):
    """How large everything is."""

    checked: Sizes
    updates: int  # of the compared curves
    models: dict[str, Sizes]
    tokens: tuple[int, ...]  # padded tokens of a side in a batch
    rows: int
    steps: int
    product: int  # rows and columns of the factors


GPU = Scale(
    checked=Sizes(128, 4, 256, 2, 500),
    updates=100,
    models={"small": Sizes(256, 4, 1024, 3, 8000), "base": Sizes(512, 8, 2048, 6, 32000)},
    tokens=(8192, 16384, 32768, 65536, 131072),
    rows=60_000,
    steps=12,
    product=8192,
)
REHEARSAL = Scale(
    checked=Sizes(16, 2, 32, 1, 60),
    updates=40,
    models={"small": Sizes(16, 2, 32, 1, 80), "base": Sizes(32, 2, 64, 1, 80)},
    tokens=(300, 600),
    rows=300,
    steps=2,
    product=256,
)


class Speed(NamedTuple):
    """What a step gives."""

    model: str
    tokens: int  # padded, of a side, in a batch
    layers: str  # plain or compiled, and how batches are filled up
    tokens_per_second: float  # real target tokens
    share_of_peak: float
    gigabytes: float


class Clock:
    """The minutes that are left."""

    def __init__(self, minutes: float) -> None:
        self._end = time.monotonic() + 60 * minutes

    @property
    def left(self) -> float:
        """Give seconds."""
        return self._end - time.monotonic()


def wait_for(device: torch.device) -> None:
    """Wait until a device has done all it was asked for."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(device: torch.device, work: Callable[[], object]) -> float:
    """Give the seconds of some work, a device's share included."""
    wait_for(device)
    begun = time.perf_counter()
    work()
    wait_for(device)
    return time.perf_counter() - begun


def peak(device: torch.device, dtype: torch.dtype, size: int) -> float:
    """Measure the product of two random square matrices, FLOP a second."""
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    for _ in range(WARM):
        left @ right
    rounds = 20
    seconds = timed(device, lambda: [left @ right for _ in range(rounds)])
    return rounds * 2.0 * size**3 / seconds


def run_checks(scale: Scale, device: torch.device) -> list[checks.Check]:
    """Run all checks; compiling is tried on a GPU alone, since it takes a CPU minutes."""
    sizes = scale.checked
    batches = Sentences(min(scale.rows, 2000), sizes.vocab).batches(2000)
    found = [*checks.bf16(sizes, device, batches[0]), *checks.forms(sizes, device, batches[0])]
    if device.type == "cuda":
        found += checks.programs(sizes, device, batches[0])
    found += checks.curves(sizes, device, batches, scale.updates)
    return found + checks.resumed(sizes, device, batches, max(scale.updates // 5, 2))


def work_of(learner: Learner, batch: Tensors) -> float:
    """Count the FLOP of a step's products, PAD included."""
    with FlopCounterMode(display=False) as counter:
        learner.gradients(batch)
    learner.optimizer.zero_grad()
    return float(counter.get_total_flops())


def speeds(name: str, scale: Scale, device: torch.device, top: float, clock: Clock) -> list[Speed]:
    """Measure whole steps of a model, with plain and with compiled layers.

    On a GPU the compiled ones also get batches whose lengths and rows are multiples of 8.
    """
    sizes, found = scale.models[name], []
    sentences = Sentences(scale.rows, sizes.vocab)
    dtype = autocast_dtype(device)
    for layers, multiple in WAYS if device.type == "cuda" else WAYS[:1]:
        learner = Learner(sizes, device, dtype, dropout=0.1)
        counting = Learner(sizes, device, dtype, dropout=0.1)
        if layers != "plain":
            learner.compile()
        for tokens in scale.tokens:
            if clock.left < TRAINING_LEAST:
                return found
            batches = sentences.batches(tokens, WARM + scale.steps, multiple)
            try:
                found.append(_speed((name, tokens, layers), learner, counting, batches, top))
            except torch.OutOfMemoryError:
                learner.optimizer.zero_grad()
                break
    return found


def _speed(
    place: tuple[str, int, str],
    learner: Learner,
    counting: Learner,
    batches: list[Tensors],
    top: float,
) -> Speed:
    device = learner.device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        batches = [batch.pinned() for batch in batches]
    steady = batches[WARM:] or batches
    for batch in batches[:WARM]:
        learner.update(batch)
    seconds = timed(device, lambda: [learner.update(batch) for batch in steady])
    memory = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
    flops = sum(work_of(counting, batch) for batch in steady)
    real = sum(len(batch.real) for batch in steady)
    return Speed(*place, real / seconds, flops / seconds / top, memory / 2**30)


def machine(device: torch.device) -> str:
    """Name the device and the versions."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return f"{name}, torch {torch.__version__}, CUDA {torch.version.cuda}"


def report_checks(found: list[checks.Check]) -> None:
    """Print the checks."""
    print("\n## Checks\n\n| check | found | should be | holds |\n|---|---|---|---|")
    for check in found:
        bound = "at least" if check.at_least else "at most"
        told = "yes" if check.holds else "**no**"
        print(f"| {check.name} | {check.found:.6g} | {bound} {check.limit:.6g} | {told} |")


def report_speeds(found: list[Speed], top: float) -> None:
    """Print the measures."""
    print(f"\n## Speed\n\nMatrix product: {top / 1e12:.1f} TFLOP/s.\n")
    print("| model | tokens a batch | layers | target tokens/s | share of the peak | GiB |")
    print("|---|---|---|---|---|---|")
    for speed in found:
        print(
            f"| {speed.model} | {speed.tokens} | {speed.layers} | {speed.tokens_per_second:,.0f} "
            f"| {speed.share_of_peak:.1%} | {speed.gigabytes:.1f} |"
        )


def report_training(result: Result) -> None:
    """Print what was trained."""
    print("\n## Training\n\n| | |\n|---|---|")
    for name, value in result.metrics.items():
        print(f"| {name} | {value} |")
    for stage, seconds in result.seconds.items():
        print(f"| seconds of {stage} | {seconds:.0f} |")


def main(arguments: list[str] | None = None) -> int:
    """Check, measure, train; give 1 if a check does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--corpus", type=Path, help="a TSV file, packed or not, or a folder of such"
    )
    parser.add_argument("--columns", type=int, nargs=2, default=(1, 0), help="of source and target")
    parser.add_argument("--minutes", type=float, default=10.0, help="for everything")
    parser.add_argument("--cpu-rehearsal", action="store_true", help="all of it, tiny, on the CPU")
    chosen = parser.parse_args(arguments)
    if not (chosen.cpu_rehearsal or torch.cuda.is_available()):
        parser.error("no CUDA device; --cpu-rehearsal tries the script without one")
    clock = Clock(chosen.minutes)
    device = torch.device("cpu" if chosen.cpu_rehearsal else "cuda")
    scale = REHEARSAL if chosen.cpu_rehearsal else GPU
    prepare_torch()
    told: dict[str, Any] = {"machine": machine(device)}
    print(f"# One GPU\n\n{told['machine']}")
    checked = run_checks(scale, device)
    report_checks(checked)
    told["checks"] = [check._asdict() | {"holds": check.holds} for check in checked]
    top = peak(device, autocast_dtype(device) or torch.float32, scale.product)
    measured = [speed for name in scale.models for speed in speeds(name, scale, device, top, clock)]
    report_speeds(measured, top)
    told |= {"peak": top, "speeds": [speed._asdict() for speed in measured]}
    if chosen.cpu_rehearsal or (chosen.corpus and clock.left > TRAINING_LEAST):
        best = max(
            (speed.tokens_per_second for speed in measured if speed.model == "base"), default=0
        )
        with tempfile.TemporaryDirectory() as folder:
            told["training"] = _train(Path(folder), chosen, device, best, clock)
    if "OUT" in os.environ:
        Path(os.environ["OUT"], "gpu.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    return 0 if all(check.holds for check in checked) else 1


def _train(
    folder: Path, chosen: argparse.Namespace, device: torch.device, speed: float, clock: Clock
) -> dict[str, Any]:
    plan = Plan(chosen.corpus, tuple(chosen.columns), device, speed, chosen.cpu_rehearsal)
    result = train(folder, plan, lambda: clock.left)
    report_training(result)
    return result._asdict()


if __name__ == "__main__":
    raise SystemExit(main())
