"""DVC's experiments and its queue, through its own commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hanyi.errors import ParamsError
from hanyi.params import PARAMS_FILE, flatten
from hanyi.revisions import ask_dvc
from stages.trials import Trial, override

QUEUED, RUNNING, ENDING, DONE, FAILED = "queued", "running", "ending", "done", "failed"
STATES = {"queued": QUEUED, "running": RUNNING, "success": DONE, "failed": FAILED}
WORKER_LOGS = ".dvc/tmp/exps/celery/*.out"


class Experiment(NamedTuple):
    """What DVC knows of an experiment; metrics are named as in MLflow, `<stage>/<dotted name>`."""

    name: str
    state: str
    params: Mapping[str, Any]
    metrics: Mapping[str, float]


def head() -> str:
    """Give the revision that experiments start from."""
    return _run("git", "rev-parse", "HEAD").strip()


def read(baseline: str) -> dict[str, Experiment]:
    """Read the experiments of a revision: queued, running, ended."""
    records = json.loads(ask_dvc("exp", "show", "--json", "--rev", baseline))
    listed = [one for record in records for one in record.get("experiments") or []]
    return {found.name: found for found in map(_experiment, listed)}


def queue(trial: Trial) -> None:
    """Queue a trial under its name."""
    changes = [
        part for name, value in trial.values.items() for part in ("-S", override(name, value))
    ]
    _dvc("exp", "run", "--queue", "--name", trial.name, *changes)


def forget(name: str) -> None:
    """Take a failed trial out of the queue, so that it can be queued again."""
    _dvc("queue", "remove", name)


def start(jobs: int) -> None:
    """Start workers of the queue, which work on after this process and end with the queue."""
    _dvc("queue", "start", "--jobs", str(jobs), OMP_NUM_THREADS=_threads(jobs))


def _threads(jobs: int) -> str:
    """Give the threads of one trial, unless the user has said: they share the cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return os.environ.get("OMP_NUM_THREADS") or str(max(1, (cores or 1) // jobs))


def _experiment(record: Mapping[str, Any]) -> Experiment:
    revision: Mapping[str, Any] = next(iter(record.get("revs") or []), {})
    data = revision.get("data") or {}
    executor = record.get("executor") or {}
    state = STATES.get(executor.get("state") or "", DONE)
    if revision.get("error"):
        state = FAILED
    elif state == RUNNING and _is_gone((executor.get("local") or {}).get("pid")):
        state = ENDING  # its worker collects what it made, or is gone too
    files = data.get("params") or {}
    params = (files.get(str(PARAMS_FILE)) or {}).get("data") or {}
    metrics = {
        f"{Path(path).stem}/{name}": value
        for path, entry in (data.get("metrics") or {}).items()
        for name, value in flatten(entry.get("data") or {}).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    # A trial that did not end shows the metrics that it started from.
    return Experiment(record["name"], state, flatten(params), metrics if state == DONE else {})


def _is_gone(process: int | None) -> bool:
    if process is None or os.name == "nt":  # there the question would kill it
        return False
    try:
        os.kill(process, 0)
    except OSError:
        return True
    return False


def _dvc(*arguments: str, **variables: str) -> str:
    return _run(sys.executable, "-m", "dvc", *arguments, **variables)


def _run(*command: str, **variables: str) -> str:
    # The queue starts its workers as `dvc`, which must be on the PATH.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**os.environ, "PATH": path, **variables}
    # Into files: workers of the queue would keep a pipe open for as long as they live.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        done = subprocess.run(command, env=environment, stdout=out, stderr=err, check=False)
        out.seek(0)
        err.seek(0)
        text, told = (file.read().decode("utf-8", "replace") for file in (out, err))
    if done.returncode:
        found = " ".join(told.split()) or f"exit code {done.returncode}"
        where = command[2:5] if command[0] == sys.executable else command[:2]
        raise ParamsError(" ".join(where), found, "it to work", "mend what it says")
    return text
