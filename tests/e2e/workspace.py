"""A clone of the project in a temporary place, with a corpus and settings made for tests."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]

OUTPUTS = ("data/raw", "data/prepared", "data/encoded", "data/decoded", "models", "metrics")
WEIGHTS = "models/transformer/weights.safetensors"

TINY: dict[str, Any] = {
    "fetch.corpora": [{"name": "mine", "source": "train.tsv"}],
    "prepare.split.valid": 16,
    "prepare.split.test": 16,
    "tokenizers.src_vocab": 300,
    "tokenizers.tgt_vocab": 300,
    "model.d_model": 32,
    "model.heads": 2,
    "model.d_ff": 64,
    "model.layers": 1,
    "train.batch_tokens": 120,
    "train.max_steps": 16,
    "train.warmup": 4,
    "train.validate_every": 8,
    "train.save_every": 4,
    "train.validate_rows": 8,
    "train.select": "loss",  # falls to the end, so the last update decides the weights
    "train.average": 2,
    "decode.beam_size": 2,
    "check.floors": {},
    "check.max_drop": {},
}

PEOPLE = {
    "I": "我",
    "we": "我们",
    "they": "他们",
    "the teachers": "老师们",
    "Anna": "安娜",
}
VERBS = {"like": "喜欢", "buy": "买", "see": "看见", "need": "需要"}
THINGS = {
    "apples": "苹果",
    "books": "书",
    "tea": "茶",
    "cats": "猫",
    "00700": "00700",
    "rice": "米饭",
}


def corpus() -> list[tuple[str, str]]:
    """Give 120 distinct English and Chinese sentences."""
    words = product(PEOPLE.items(), VERBS.items(), THINGS.items())
    return [
        (f"{who[0]} {does[0]} {what[0]}.".capitalize(), f"{who[1]}{does[1]}{what[1]}。")
        for who, does, what in words
    ]


def write_table(path: Path, rows: Sequence[Sequence[str]], delimiter: str = "\t") -> None:
    """Write rows as a delimited text file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(delimiter.join(row) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8", newline="\n")


@dataclass(frozen=True)
class Done:
    """A command that has ended: its exit code, output and error output."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Give all that it wrote."""
        return self.out + self.err

    @property
    def faults(self) -> list[str]:
        """Give the lines by which a stage says that it cannot go on."""
        return [line for line in self.err.splitlines() if ": error: " in line]


class Workspace:
    """A directory that holds the project, and the ways to use it as a person would."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def make(cls, path: Path) -> Workspace:
        """Copy what git knows or would add, as it is now, and commit it with the tiny corpus."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
        for name in filter(None, listed.decode("utf-8").split("\0")):
            # A lock of the real corpus says nothing about this one.
            if (ROOT / name).is_file() and name != "dvc.lock" and not name.startswith("metrics/"):
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, path / name)
        shutil.copy(ROOT / "metrics/.gitignore", _made(path / "metrics") / ".gitignore")
        _link_environment(path)
        made = cls(path)
        made.edit(**TINY)
        write_table(path / "data/inputs/train.tsv", corpus())
        made.run("git", "init", "--quiet", "--initial-branch=main")
        made.run("git", "config", "user.name", "Tester")
        made.run("git", "config", "user.email", "tester@example.org")
        made.commit("Tiny corpus")
        return made

    def clone(self, path: Path, revision: str = "HEAD~1") -> Workspace:
        """Clone it with git: by default as it was before anything was built."""
        self.run("git", "clone", "--quiet", self.path, path)
        made = Workspace(path)
        made.run("git", "checkout", "--quiet", "-B", "main", revision)
        _link_environment(path)
        return made

    def copy(self, path: Path) -> Workspace:
        """Copy all of it but the state of resumable trainings and the MLflow store."""
        leave = shutil.ignore_patterns(".hanyi", "mlflow.db*", "mlartifacts", "__pycache__")
        shutil.copytree(self.path, path, symlinks=True, ignore=leave)
        return Workspace(path)

    def environment(self, **changes: str | None) -> dict[str, str]:
        """Give a plain environment: nothing of the caller's, tracking off unless asked for."""
        leave = ("PYTHON", "HANYI", "MLFLOW", "DVC", "GIT", "VIRTUAL_ENV", "COV")
        plain = {key: value for key, value in os.environ.items() if not key.startswith(leave)}
        home = _made(self.path.with_name(f"{self.path.name}.home"))
        plain |= {
            "DVC_GLOBAL_CONFIG_DIR": str(home),
            "DVC_SYSTEM_CONFIG_DIR": str(home),
            "DVC_SITE_CACHE_DIR": str(home),
            "DVC_NO_ANALYTICS": "true",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "OMP_NUM_THREADS": "1",
            "HANYI_DEVICE": "cpu",
            "HANYI_TRACKING": "off",
        }
        set_now = {key: value for key, value in changes.items() if value is not None}
        return {key: value for key, value in plain.items() if key not in changes} | set_now

    def run(self, *command: str | Path, expect: int | None = 0, **changes: str | None) -> Done:
        """Run a command here to its end; anything but the expected exit code fails the test."""
        ended = subprocess.run(
            command,
            cwd=self.path,
            env=self.environment(**changes),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=600,  # a busy machine; pytest has shorter ones
        )
        done = Done(ended.returncode, ended.stdout, ended.stderr)
        assert expect is None or done.code == expect, f"{command}: {done.code}\n{done.text}"
        return done

    def dvc(self, *arguments: str, expect: int | None = 0, **changes: str | None) -> Done:
        """Run dvc."""
        dvc = Path(sys.executable).parent / "dvc"
        return self.run(dvc, *arguments, expect=expect, **changes)

    def tracked(self, *arguments: str, expect: int | None = 0, **changes: str | None) -> Done:
        """Run dvc, and let MLflow know."""
        return self.dvc(*arguments, expect=expect, HANYI_TRACKING=None, **changes)

    def start_the_queue(self, jobs: int) -> None:
        """Start workers of DVC's queue, which must find `dvc` and would keep a pipe open."""
        folder = Path(sys.executable).parent
        path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(
            [folder / "dvc", "queue", "start", "--jobs", str(jobs)],
            cwd=self.path,
            env=self.environment(HANYI_TRACKING=None, PATH=path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
            timeout=240,
        )

    def wait_for_the_queue(self, seconds: float = 240.0) -> None:
        """Wait until nothing is queued or running."""
        end = time.monotonic() + seconds
        while {"Queued", "Running"} & set(self.dvc("queue", "status").out.split()):
            assert time.monotonic() < end, self.dvc("queue", "status").out
            time.sleep(2)

    def stage(self, name: str, expect: int | None = 0, **changes: str | None) -> Done:
        """Run one stage alone, as dvc would."""
        return self.run("sh", "stages/run", name, expect=expect, **changes)

    def commit(self, message: str) -> None:
        """Commit everything that git does not ignore."""
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def edit(self, **values: Any) -> None:
        """Set parameters by dotted names, comments kept."""
        yaml = YAML()
        yaml.width = 1000
        file = self.path / "params.yaml"
        params = yaml.load(file.read_text(encoding="utf-8"))
        for name, value in values.items():
            *sections, key = name.split(".")
            inner = params
            for section in sections:
                inner = inner[section]
            inner[key] = value
        text = io.StringIO()
        yaml.dump(params, text)
        file.write_text(text.getvalue(), encoding="utf-8", newline="\n")

    def metrics(self, stage: str) -> dict[str, Any]:
        """Read a stage's metrics."""
        loaded = json.loads((self.path / f"metrics/{stage}.json").read_text(encoding="utf-8"))
        return dict(loaded)

    def digests(self, *below: str) -> dict[str, str]:
        """Give the digest of every output file."""
        return {
            file.relative_to(self.path).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
            for folder in below or OUTPUTS
            for file in sorted((self.path / folder).rglob("*"))
            if file.is_file() and file.name != ".gitignore"
        }

    def leftovers(self) -> list[str]:
        """Give half-written files, which no end of a stage may leave behind."""
        return [
            file.relative_to(self.path).as_posix()
            for folder in ("data", "models", "metrics")
            for file in (self.path / folder).rglob(".*.tmp-*")
        ]

    def processes(self, module: str) -> Iterator[int]:
        """Give the ids of the processes that run a module in this directory."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    command = (entry / "cmdline").read_bytes().split(b"\0")
                    here = (entry / "cwd").resolve() == self.path.resolve()
                except OSError:
                    continue
                if here and command[1:3] == [b"-m", module.encode()]:
                    yield int(entry.name)


def ran(done: Done) -> list[str]:
    """Give the stages that dvc says it ran, in order."""
    lines = done.out.splitlines()
    return [line.split("'")[1] for line in lines if line.startswith("Running stage '")]


def _made(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _link_environment(path: Path) -> None:
    """Give the workspace a .venv whose Python is this one, for stages/run to find."""
    python = _made(path / ".venv/bin") / "python"
    script = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
    python.write_text(script, encoding="utf-8", newline="\n")
    python.chmod(0o755)
