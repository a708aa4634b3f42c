"""Measure fetch and prepare, in rows a second and peak memory, beside pandas, polars and duckdb.

`.venv/bin/python -m benchmarks.corpus --corpus FILE.tsv.gz --copies 1 10 100`: FILE has two columns
of sentences. A copy after the first has other letters and other Han characters, so that its rows
are no duplicates. Fetch and prepare run as they do in the pipeline, with the parameters of
params.yaml but for the corpus, each in a process of its own whose start counts. pandas does parsing
and filters like the default rules; polars and duckdb (`pip install -e .[bench]`) do parsing, exact
removal of duplicates and Parquet alone. A peer that is not installed is left out.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
STAGES = ("fetch", "prepare")
FACTORS = (1, 3, 5, 7, 9, 11, 15, 17, 19, 21, 23, 25)
"""Numbers that have no factor in common with 26: times one of them, letters stay distinct."""
HAN, HAN_SIZE = 0x4E00, 20_000
HAN_STEP = 37
MIB = 1 << 20


class Run(NamedTuple):
    """What a process took."""

    seconds: float
    peak: int  # bytes


def mutated(codes: NDArray[np.uint32], number: int) -> NDArray[np.uint32]:
    """Give a text with other letters and other Han characters, as code points."""
    out = codes.copy()
    factor, shift = FACTORS[number // 26], number % 26
    for first in (ord("a"), ord("A")):
        letters = (codes >= first) & (codes < first + 26)
        out[letters] = (codes[letters] - first) * factor % 26
        out[letters] = (out[letters] + shift) % 26 + first
    han = (codes >= HAN) & (codes < HAN + HAN_SIZE)
    out[han] = (codes[han] - HAN + HAN_STEP * number) % HAN_SIZE + HAN
    return out


def write_copies(corpus: Path, copies: int, target: Path) -> None:
    """Write the corpus and its mutated copies as one plain file."""
    with gzip.open(corpus) if corpus.suffix == ".gz" else corpus.open("rb") as file:
        data = file.read()
    codes = np.frombuffer(data.decode("utf-8").encode("utf-32-le"), np.uint32)
    with target.open("wb") as out:
        for number in range(copies):
            out.write(mutated(codes, number).tobytes().decode("utf-32-le").encode("utf-8"))


def count_lines(path: Path) -> int:
    """Count the lines of a file."""
    with path.open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(MIB), b""))


def make_project(place: Path, name: str) -> None:
    """Write the parameters of a project that reads one file."""
    yaml = YAML()
    params = yaml.load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["fetch"]["corpora"] = [{"name": "bench", "source": name}]
    params["fetch"]["reading"] |= {"src_column": 1, "tgt_column": 0}
    with (place / "params.yaml").open("w", encoding="utf-8") as file:
        yaml.dump(params, file)


def measure(command: list[str], place: Path) -> Run:
    """Run a command to its end."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "HANYI_TRACKING": "off"}
    begin = time.perf_counter()
    with subprocess.Popen(command, cwd=place, env=environment, stderr=subprocess.PIPE) as process:
        text = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(text.decode("utf-8", "replace"))
    return Run(time.perf_counter() - begin, usage.ru_maxrss * 1024)


def with_pandas(path: Path, out: Path) -> None:
    """Parse, apply filters like the default rules, drop duplicates, write Parquet."""
    import pandas as pd

    frame = pd.read_csv(
        path, sep="\t", names=["tgt", "src"], quoting=3, dtype=str, keep_default_na=False,
        on_bad_lines="skip",
    )  # fmt: skip
    for side in ("src", "tgt"):
        frame[side] = frame[side].str.normalize("NFC").str.replace(r"\s+", " ", regex=True)
        frame[side] = frame[side].str.strip()
        frame = frame[frame[side].str.len().between(1, 400)]
        frame = frame[~frame[side].str.fullmatch(r"https?://\S+")]
        frame = frame[~frame[side].str.contains(r"(.)\1{9}")]
    han = frame["src"].str.count(r"[\u4e00-\u9fff]")
    latin = frame["tgt"].str.count(r"[A-Za-z]")
    frame = frame[(han * 2 >= frame["src"].str.len()) & (latin * 2 >= frame["tgt"].str.len())]
    ratio = frame["tgt"].str.len() / frame["src"].str.len()
    frame = frame[ratio.between(0.1, 20) & (frame["src"] != frame["tgt"])]
    frame.drop_duplicates(["src", "tgt"]).to_parquet(out)


def with_polars(path: Path, out: Path) -> None:
    """Parse, drop duplicates, write Parquet."""
    import polars as pl

    frame = pl.scan_csv(
        path, separator="\t", has_header=False, new_columns=["tgt", "src"], quote_char=None,
        schema_overrides=[pl.String, pl.String], truncate_ragged_lines=True,
    )  # fmt: skip
    frame.unique(["src", "tgt"], keep="any").sink_parquet(out)


def with_duckdb(path: Path, out: Path) -> None:
    """Parse, drop duplicates, write Parquet."""
    import duckdb

    columns = {"tgt": "VARCHAR", "src": "VARCHAR"}
    rows = duckdb.read_csv(
        str(path), sep="\t", header=False, columns=columns, quotechar="", escapechar="",
        ignore_errors=True,
    )  # fmt: skip
    rows.distinct().write_parquet(str(out), compression="zstd")


PEERS: dict[str, Callable[[Path, Path], None]] = {
    "pandas": with_pandas,
    "polars": with_polars,
    "duckdb": with_duckdb,
}


def compare(corpus: Path, copies: int, *, peers: bool) -> None:
    """Measure everything on one size and print a table."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        place = Path(folder)
        inputs = place / "data/inputs"
        inputs.mkdir(parents=True)
        # In a process of its own: a child's peak counts from what its parent holds.
        command = [sys.executable, "-m", "benchmarks.corpus", "--corpus", str(corpus)]
        measure([*command, "--copies", str(copies), "--write", str(inputs / "bench.tsv")], place)
        rows = count_lines(inputs / "bench.tsv")
        make_project(place, "bench.tsv")
        print(
            f"\n{rows:,} rows, {(inputs / 'bench.tsv').stat().st_size / MIB:,.0f} MiB", flush=True
        )
        runs = [measure([sys.executable, "-m", f"stages.{stage}"], place) for stage in STAGES]
        for stage, run in zip(STAGES, runs, strict=True):
            tell(stage, rows, run)
        seconds = sum(run.seconds for run in runs)
        tell("fetch + prepare", rows, Run(seconds, max(run.peak for run in runs)))
        for name in PEERS if peers else ():
            if importlib.util.find_spec(name):
                paths = [str(inputs / "bench.tsv"), str(place / f"{name}.parquet")]
                command = [sys.executable, "-m", "benchmarks.corpus", "--peer", name, *paths]
                tell(name, rows, measure(command, place))


def tell(name: str, rows: int, run: Run) -> None:
    """Print a line of the table."""
    speed, peak = rows / run.seconds, run.peak / MIB
    print(f"{name:16} {run.seconds:8.1f} s {speed:12,.0f} rows/s {peak:8,.0f} MiB", flush=True)


def main() -> None:
    """Measure each size that is asked for, or be the process of one peer."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--corpus", type=Path, help="TSV, plain or .gz: target, then source")
    ask.add_argument("--copies", type=int, nargs="+", default=[1, 10])
    ask.add_argument("--largest-for-peers", type=int, default=10, help="copies, at most")
    ask.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)
    ask.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    asked = ask.parse_args()
    if asked.peer:
        name, path, out = asked.peer
        PEERS[name](Path(path), Path(out))
        return
    if asked.corpus is None:
        ask.error("--corpus is needed")
    if asked.write:
        write_copies(asked.corpus.resolve(), asked.copies[0], asked.write)
        return
    for copies in asked.copies:
        compare(asked.corpus.resolve(), copies, peers=copies <= asked.largest_for_peers)


if __name__ == "__main__":
    main()
