"""Trainings in processes of their own, in a folder of their own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kills.moments import FUNCTIONS, Moment
from tests.training import make_corpus, write_params

ROOT = Path(__file__).resolve().parents[2]
CODE = ("src", "stages", "tests/e2e/saboteur.py")
GOES_ON = re.compile(r"going on from the state after update (\d+)")
PUBLISHED = ("models", "metrics")
SECONDS = 600  # for a training to end

# Everything that has a state of its own is switched on.
SETTINGS: dict[str, Any] = {
    "accumulate": 2,
    "max_steps": 24,
    "validate_every": 6,
    "save_every": 4,
    "average": 2,
    "ema": 0.9,
    "bpe_dropout": 0.1,
    "r_drop": 1.0,
    "spike": 100.0,
    "patience": 20,
    "finetune": {"max_steps": 8, "weights": {"beta": 1}, "learning_rate": 0.001, "warmup": 2},
}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a training ended."""

    code: int
    text: str

    @property
    def begun(self) -> str:
        """Tell from which update it went on, or that it began anew."""
        found = GOES_ON.search(self.text)
        return f"update {found[1]}" if found else "the start"


class Workshop:
    """A folder that holds all that `stages.train` reads, and the folder of the code that runs."""

    def __init__(self, path: Path, code: Path) -> None:
        self.path = path
        self.code = code

    @classmethod
    def make(cls, folder: Path) -> Workshop:
        """Make the corpus, and copy the code: an edit meanwhile would make it another training."""
        code, path = folder / "code", folder / "fresh"
        for name in CODE:
            source, target = ROOT / name, code / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        path.mkdir()
        make_corpus(path)
        write_params(path, **SETTINGS)
        return cls(path, code)

    def copy(self, path: Path) -> Workshop:
        """Copy it before anything is trained."""
        shutil.copytree(self.path, path)
        return Workshop(path, self.code)

    def train(self, *flags: str) -> Ended:
        """Train to the end, as dvc does."""
        return self._end(self.start(*flags))

    def start(self, *flags: str) -> subprocess.Popen[str]:
        """Begin to train."""
        return self._start("-m", "stages.train", *flags)

    def count(self) -> dict[str, int]:
        """Train to the end, and give how often each function was called."""
        file = self.path / "counts.json"
        ended = self._end(self._start(self.code / CODE[-1], "train", "--count", file, *FUNCTIONS))
        if ended.code:
            raise RuntimeError(ended.text)
        counts: dict[str, int] = json.loads(file.read_text(encoding="utf-8"))
        return counts

    def kill(self, moment: Moment, *flags: str) -> Ended:
        """Train until the moment comes, or to the end where it does not come."""
        if moment.function:
            what = f"{moment.signal}-{'after' if moment.after else 'before'}"
            words = [self.code / CODE[-1], "train", moment.function, moment.call, what, *flags]
            return self._end(self._start(*words))
        process = self.start(*flags)
        time.sleep(moment.seconds)
        process.send_signal(signal.SIGKILL if moment.signal == "kill" else signal.SIGTERM)
        return self._end(process)

    def digests(self) -> dict[str, str]:
        """Give the digests of all that is published, and of what should not be there."""
        files = [file for name in PUBLISHED for file in (self.path / name).rglob("*")]
        files += (self.path / ".hanyi").rglob("*")
        return {
            str(file.relative_to(self.path)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in files
            if file.is_file()
        }

    def _start(self, *words: object) -> subprocess.Popen[str]:
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HANYI", "DVC", "MLFLOW"))
        }
        environment |= {
            "PYTHONPATH": str(self.code),
            "HANYI_DEVICE": "cpu",
            "HANYI_TRACKING": "off",
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, *map(str, words)]
        return subprocess.Popen(
            command, cwd=self.path, env=environment, stderr=subprocess.PIPE, text=True
        )

    def _end(self, process: subprocess.Popen[str]) -> Ended:
        try:
            _, text = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
            process.wait()
        return Ended(process.returncode, text)
