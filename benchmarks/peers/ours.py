"""Our own stage `train`, as `dvc repro` runs it, in a workspace with the corpus of the race."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from benchmarks.peers.meter import Meter
from benchmarks.peers.task import Task
from hanyi.tokens.vocab import PAD

ROOT = Path(__file__).resolve().parents[2]


def settings(task: Task) -> dict[str, Any]:
    """Give the project's own params with the sizes of the task."""
    params = YAML(typ="safe").load(ROOT / "params.yaml")
    params["model"] |= {
        "d_model": task.d_model,
        "heads": task.heads,
        "d_ff": task.d_ff,
        "layers": task.layers,
        "dropout": task.dropout,
        "attention_dropout": 0.0,
    }
    params["train"] |= {
        "batch_tokens": task.batch_tokens,
        "accumulate": 1,
        "max_steps": 100_000,
        "learning_rate": task.learning_rate,
        "label_smoothing": task.label_smoothing,
        "validate_every": 100_000,
        "save_every": 100_000,
        "precision": task.precision,
    }
    return params


def main() -> None:
    """Train until the meter has seen enough."""
    task = Task.read(sys.argv[1])
    home = Path(task.folder)
    for name in ("data", "models"):
        (home / name).symlink_to(Path(task.corpus, "home", name))
    YAML(typ="safe").dump(settings(task), home / "params.yaml")
    os.chdir(home)
    os.environ["DVC_ROOT"] = str(home)  # the state of the run is kept there

    from hanyi.tracking import Tracker
    from hanyi.training import gradients
    from stages.train import main as train

    meter = Meter(task, "this tree")
    forward = gradients.TeacherForcing.forward

    def counted(self: Any, batch: Any) -> Any:
        meter.batch(batch.src, batch.tgt_out, PAD)
        return forward(self, batch)

    gradients.TeacherForcing.forward = counted
    train(Tracker())


if __name__ == "__main__":
    main()
