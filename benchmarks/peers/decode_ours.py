"""Our own stage `decode`, as `dvc repro` runs it, in a workspace with the model of the race."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from benchmarks.peers.decode_task import DecodeTask

ROOT = Path(__file__).resolve().parents[2]
SPEED = re.compile(r"([\d.]+) rows a second")


def settings(task: DecodeTask) -> dict[str, Any]:
    """Give the project's own params with what the task says."""
    params: dict[str, Any] = YAML(typ="safe").load(ROOT / "params.yaml")
    engine, _, quantization = task.variant.partition(" ")
    params["decode"] |= {
        "engine": engine,
        "quantization": quantization or "none",
        "beam_size": task.beam,
        "n_best": 1,
        "patience": 1.0,  # as the others have it
        "length_norm": "average",  # as CTranslate2's own
    }
    if task.length:
        params["decode"] |= {"max_length_ratio": 0.0, "max_length_offset": task.length}
    if task.sentences == 1:
        params["decode"]["batch_tokens"] = 1
    return params


def main() -> None:
    """Run the stage, and read from its log how fast it was."""
    task = DecodeTask.read(sys.argv[1])
    home = Path(task.folder)
    for name in ("data", "models"):
        shutil.copytree(Path(task.home, name), home / name)
    YAML(typ="safe").dump(settings(task), home / "params.yaml")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DVC_ROOT": str(home)}
    del environment["OMP_NUM_THREADS"]  # the stage finds out by itself how many processes to take
    done = subprocess.run(
        [sys.executable, "-m", "stages.decode"],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout, done.stderr)
    found = SPEED.findall(done.stdout + done.stderr)
    if done.returncode or not found:
        sys.exit(done.stderr or "no speed was told")
    lines = Path(home, "data/decoded/test.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    tokens = [row["tokens"] for row in rows]
    task.finish("this tree", len(rows) / float(found[-1]), len(rows), tokens)


if __name__ == "__main__":
    main()
