"""The stage train as two processes: one set of outputs, one voice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.training import make_corpus, write_params


def test_two_processes_train_one_model(root: Path, tmp_path: Path) -> None:
    make_corpus(tmp_path)
    write_params(tmp_path, max_steps=4)
    stage = subprocess.run(
        [sys.executable, "-m", "stages.train"],
        cwd=tmp_path,
        env={
            **{name: value for name, value in os.environ.items() if name != "DVC_ROOT"},
            "PYTHONPATH": str(root),
            "HANYI_DEVICE": "cpu",
            "HANYI_TRACKING": "off",
            "HANYI_TORCHRUN": "--nproc-per-node=2",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert stage.returncode == 0, stage.stderr
    assert "train [1]" not in stage.stderr
    assert stage.stderr.count("4 updates at most") == 1
    assert json.loads((tmp_path / "metrics/train.json").read_text())["steps"] == 4
    assert (tmp_path / "models/transformer/weights.safetensors").is_file()
    assert not any((tmp_path / ".hanyi/train").iterdir())
