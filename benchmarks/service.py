"""Load on the service: `.venv/bin/python -m benchmarks.service --project DIR`.

Two services with the same trained model run beside each other, on loopback: one as `hanyi serve`
starts it, and one with `--batch 1`, which translates each request alone. Clients ask for test
sentences, one request at a time each, over connections that stay open; the services take turns, so
that what else the machine does meets both. Prints a Markdown table for each engine: requests a
second (the median of the rounds), the ratio, and the times of requests at the 50th and 99th
percentile, and the processor time of the service, which hardly depends on what else runs. Every
translation is compared: batching may change none.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [sys.executable, "-c", "from hanyi.cli import app; app()", "serve"]
VARIANTS = {"one by one": ["--batch", "1"], "batched": []}
COLUMNS = (
    "clients",
    "service",
    "requests/s",
    "ratio",
    "p50 ms",
    "p99 ms",
    "CPU ms a request",
    "texts in a batch",
)
COUNTERS = ("hanyi_batch_texts_sum", "hanyi_batch_texts_count", "process_cpu_seconds_total")
WARM = 64  # requests before anything is measured
LIMIT = 300.0  # seconds for one measurement


@dataclass
class Load:
    """What was measured of a service at a number of clients."""

    speeds: list[float] = field(default_factory=list)  # requests a second, of each round
    seconds: list[float] = field(default_factory=list)  # of each request
    texts: dict[str, str] = field(default_factory=dict)  # translations

    def cells(self, slow: float, counted: np.ndarray) -> tuple[str, ...]:
        """Give the cells of the table, by what COUNTERS went up and the speed to compare with."""
        speed = median(self.speeds)
        p50, p99 = np.percentile(np.array(self.seconds) * 1000, [50, 99])
        texts, batches, cpu = counted
        own = f"{1000 * cpu / texts:.1f}", f"{texts / batches:.1f}"
        return f"{speed:.0f}", f"x{speed / slow:.2f}", f"{p50:.0f}", f"{p99:.0f}", *own


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes
) -> bytes:
    """Send a request on an open connection, and read the body of its answer."""
    method = b"POST" if body else b"GET"
    head = b"%s %s HTTP/1.1\r\nHost: here\r\n" % (method, path.encode())
    head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    writer.write(head + body)
    told = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in told[:16]:
        raise SystemExit(f"the service answered {told.decode()}")
    length = re.search(rb"content-length: (\d+)", told, re.IGNORECASE)
    return await reader.readexactly(int(length[1]) if length else 0)


async def run_client(port: int, sources: Iterator[str], load: Load) -> None:
    """Ask for one text after another."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for source in sources:
            begin = time.perf_counter()
            answer = await ask(reader, writer, "/translate", json.dumps({"text": source}).encode())
            load.seconds.append(time.perf_counter() - begin)
            load.texts[source] = json.loads(answer)["translations"][0]["text"]
    finally:
        writer.close()


async def run_clients(port: int, clients: int, sources: Sequence[str], load: Load) -> None:
    """Share out texts among clients, and measure."""
    shared = iter(sources)
    begin = time.perf_counter()
    work = asyncio.gather(*(run_client(port, shared, load) for _ in range(clients)))
    await asyncio.wait_for(work, LIMIT)
    load.speeds.append(len(sources) / (time.perf_counter() - begin))


async def read_counters(port: int) -> np.ndarray:
    """Give the values of COUNTERS."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    text = (await ask(reader, writer, "/metrics", b"")).decode()
    writer.close()
    found = (re.search(rf"^{name} (\S+)$", text, re.MULTILINE) for name in COUNTERS)
    return np.array([float(value[1]) if value else 0.0 for value in found])


@contextmanager
def serving(bundle: Path, options: Sequence[str], threads: int) -> Iterator[int]:
    """Start a service and give its port."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "PYTHONPATH": str(ROOT / "src"),
        "HANYI_DEVICE": "cpu",
    }
    command = [*PROGRAM, "--model", str(bundle), "--port", "0", "--queue", "4096", *options]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline() if process.stderr else ""
            if not (found := re.match(r"http://127\.0\.0\.1:(\d+): ", line)):
                raise SystemExit(line)
            time.sleep(1)  # it listens in a moment
            yield int(found[1])
        finally:
            process.terminate()
            process.wait(30)


def make_bundle(project: Path, engine: str, folder: Path) -> Path:
    """Lay out the model of a project with another engine."""
    folder.mkdir()
    for name in ("transformer", "tokenizers"):
        (folder / name).symlink_to((project / "models" / name).absolute())
    yaml = YAML()
    params = yaml.load((project / "params.yaml").read_text(encoding="utf-8"))
    params["decode"]["engine"] = engine
    with (folder / "params.yaml").open("w", encoding="utf-8") as file:
        yaml.dump(params, file)
    return folder


def measure(ports: Sequence[int], chosen: argparse.Namespace, texts: Sequence[str]) -> None:
    """Load the services in turns, and print rows."""
    for port in ports:
        asyncio.run(run_clients(port, 8, list(islice(cycle(texts), WARM)), Load()))
    for clients in chosen.clients:
        loads = [Load() for _ in ports]
        before = [asyncio.run(read_counters(port)) for port in ports]
        requests = min(chosen.requests, 50 * clients)
        for turn in range(chosen.rounds):
            sources = list(islice(cycle(texts), turn * requests, (turn + 1) * requests))
            order = list(zip(ports, loads, strict=True))[:: -1 if turn % 2 else 1]
            for port, load in order:
                asyncio.run(run_clients(port, clients, sources, load))
        slow = median(loads[0].speeds)
        for name, port, load, old in zip(VARIANTS, ports, loads, before, strict=True):
            counted = asyncio.run(read_counters(port)) - old
            cells = (str(clients), name, *load.cells(slow, counted))
            print(f"| {' | '.join(cells)} |", flush=True)
        if changed := sum(text != loads[0].texts[one] for one, text in loads[1].texts.items()):
            print(f"\n{changed} of {len(loads[1].texts)} translations differ\n")


def main() -> None:
    """Measure and print."""
    chosen = _arguments()
    test = pd.read_parquet(chosen.project / "data/prepared/test.parquet")
    texts = test["src"].sample(frac=1, random_state=1).tolist()
    with tempfile.TemporaryDirectory(prefix="service-", dir=chosen.work) as work:
        for engine in chosen.engines:
            bundle = make_bundle(chosen.project, engine, Path(work) / engine)
            print(f"engine {engine}, {chosen.threads} cores, {len(texts)} test sentences\n")
            print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
            with ExitStack() as stack:
                ports = [
                    stack.enter_context(serving(bundle, options, chosen.threads))
                    for options in VARIANTS.values()
                ]
                measure(ports, chosen, texts)
            print()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--project", type=Path, default=Path(), help="folder of a project that is built")
    add("--engines", nargs="+", default=("ctranslate2", "torch"))
    add("--clients", type=int, nargs="+", default=(1, 8, 32, 128))
    add("--requests", type=int, default=400, help="of a round, at most 50 for each client")
    add("--rounds", type=int, default=3)
    add("--threads", type=int, default=os.cpu_count())
    add("--work", type=Path, help="folder for temporary files")
    return parser.parse_args()


if __name__ == "__main__":
    main()
