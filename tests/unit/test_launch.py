"""A stage as several processes: who writes, one line for a fault, signals and exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hanyi.errors import ParamsError
from stages.launch import read_layout, tell

STAGE = """\
import os, signal, sys, time
from pathlib import Path
from stages.harness import run
from hanyi.errors import DataError, LostProcessError

rank = lambda: os.environ["RANK"]
fault = lambda: DataError("a.tsv:3", "1 column", "2", "mend it")

def until_told(code):
    def end(*_): raise SystemExit(code)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    started()
    while True: time.sleep(0.05)

def started():
    Path("own").mkdir(exist_ok=True)
    Path("own", rank()).write_text(str(os.getpid()))

def main(tracker):
    started()
    {body}
    return {{"rank": rank(), "of": os.environ["WORLD_SIZE"]}}

run("train", main, lambda: {default})
"""


def start(
    root: Path, folder: Path, body: str, flags: str = "--nproc-per-node=2", default: int = 1
) -> subprocess.Popen[str]:
    (folder / "stage.py").write_text(STAGE.format(body=body, default=default), encoding="utf-8")
    clean = {k: v for k, v in os.environ.items() if k not in {"RANK", "WORLD_SIZE", "LOCAL_RANK"}}
    return subprocess.Popen(
        [sys.executable, "stage.py"],
        cwd=folder,
        env={
            **clean,
            "PYTHONPATH": str(root),
            "HANYI_TRACKING": "off",
            "HANYI_TORCHRUN": flags,
        },
        stderr=subprocess.PIPE,
        text=True,
        # A job in the background of a shell ignores SIGINT, and so would whatever it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def workers(folder: Path, count: int = 2) -> list[int]:
    """Wait until each has started; give their process ids by rank."""
    paths = [folder / "own" / str(rank) for rank in range(count)]
    for _ in range(2000):
        if all(path.exists() and path.read_text() for path in paths):
            return [int(path.read_text()) for path in paths]
        time.sleep(0.05)
    raise TimeoutError(paths)


def ended(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"  # dead, but nobody has collected it yet


def test_each_process_works_and_the_first_writes(root: Path, tmp_path: Path) -> None:
    stage = start(root, tmp_path, "pass", flags="--nproc-per-node=3")
    assert stage.communicate(timeout=120) == (None, "")
    assert stage.returncode == 0
    assert len(set(workers(tmp_path, 3))) == 3
    assert '"of": "3",\n  "rank": "0"' in (tmp_path / "metrics" / "train.json").read_text()


def test_a_stage_knows_how_many_it_wants_by_default(root: Path, tmp_path: Path) -> None:
    stage = start(root, tmp_path, "pass", flags="", default=2)
    stage.communicate(timeout=120)
    workers(tmp_path)
    assert '"of": "2"' in (tmp_path / "metrics" / "train.json").read_text()


LOST = 'LostProcessError("process", "gone", "it", "again")'


@pytest.mark.parametrize(
    ("body", "code", "line"),
    [
        ("raise fault()", 2, "a.tsv:3: 1 column, expected 2; mend it"),
        # The one that failed is heard, not the others that only noticed; and not those that hang.
        (
            f'raise fault() if rank() == "1" else {LOST}',
            2,
            "a.tsv:3: 1 column, expected 2; mend it",
        ),
        (f"raise {LOST}", 2, "process: gone, expected it; again"),
        ('raise OSError(28, "full", "x")', 2, "x: no space left, expected room for the outputs"),
        (
            'os.kill(os.getpid(), 9) if rank() == "1" else time.sleep(60)',
            2,
            "process 1 of 2: killed by SIGKILL, expected all of them to the end; run the same",
        ),
        # Who did not end by itself and was killed here is not what went wrong.
        (f'time.sleep(60) if rank() == "1" else None; raise {LOST}', 2, "process: gone, expected"),
        # As long as a line may be, in signs of three bytes.
        ('raise DataError("书" * 5000, "1 column", "2", "mend it")', 2, "书" * 900 + "\n"),
    ],
)
def test_what_went_wrong_first_is_told_once(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, code: int, line: str
) -> None:
    stage = start(root, tmp_path, body)
    _, err = stage.communicate(timeout=120)
    assert stage.returncode == code
    assert err.startswith(f"train: error: {line}")
    assert err.count("\n") == 1
    assert not (tmp_path / "metrics" / "train.json").exists()


def test_a_bug_keeps_its_traceback(root: Path, tmp_path: Path) -> None:
    stage = start(root, tmp_path, f'1 / (rank() == "0")\n    raise {LOST}')
    _, err = stage.communicate(timeout=120)
    assert stage.returncode == 1
    assert err.count("Traceback") == 1
    assert err.rstrip().endswith("ZeroDivisionError: division by zero")


def test_a_fault_is_written_here_when_the_launcher_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launcher, worker = os.pipe()
    os.close(launcher)
    monkeypatch.setenv("HANYI_FAULTS", str(worker))
    assert not tell("x")
    os.close(worker)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_each_process_once(
    root: Path, tmp_path: Path, number: signal.Signals
) -> None:
    stage = start(root, tmp_path, "until_told(75)")
    pids = workers(tmp_path)
    time.sleep(0.3)
    stage.send_signal(number)
    assert stage.wait(timeout=120) == 75
    assert all(map(ended, pids))
    assert stage.communicate() == (None, "")


def test_one_that_is_stopped_ends_as_a_single_one_does(root: Path, tmp_path: Path) -> None:
    stage = start(root, tmp_path, "time.sleep(60)")
    workers(tmp_path)
    time.sleep(0.3)
    stage.terminate()
    _, err = stage.communicate(timeout=120)
    assert stage.returncode == 128 + signal.SIGTERM
    assert err == "train: stopped by SIGTERM\n"


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG")
def test_the_processes_end_with_their_parent(root: Path, tmp_path: Path) -> None:
    stage = start(root, tmp_path, "until_told(75)")
    pids = workers(tmp_path)
    stage.kill()
    stage.communicate()
    for _ in range(1000):
        if all(map(ended, pids)):
            return
        time.sleep(0.05)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    pytest.fail("processes outlived their parent")


def test_torchrun_s_own_processes_start_no_more(root: Path, tmp_path: Path) -> None:
    body = f'raise fault() if rank() == "1" else {LOST}'
    (tmp_path / "stage.py").write_text(STAGE.format(body=body, default=2), encoding="utf-8")
    one = subprocess.run(
        [sys.executable, "stage.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(root),
            "RANK": "1",
            "WORLD_SIZE": "2",
            "HANYI_TORCHRUN": "--nproc-per-node=2",
        },
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert one.returncode == 2
    assert one.stderr == "train [1]: error: a.tsv:3: 1 column, expected 2; mend it\n"


def test_torchrun_s_names_are_understood() -> None:
    layout = read_layout(
        "--nnodes=2 --node_rank 1 --nproc-per-node=8 --master-addr=10.0.0.7 --master_port=3000"
    )
    assert layout.count == 16
    assert [layout.rank(local) for local in (0, 7)] == [8, 15]
    assert (layout.master_addr, layout.master_port) == ("10.0.0.7", 3000)
    assert read_layout("--nnodes=2 --master-addr=a").master_port == 29500
    alone = read_layout("--nproc-per-node=2")
    assert (alone.master_addr, alone.master_port != 29500) == ("127.0.0.1", True)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--nproc-per-node=gpu", "invalid int value: 'gpu'"),
        ("--nproc-per-node=0", "0 processes on node 0 of 1"),
        ("--nnodes=2 --node-rank=2", "1 processes on node 2 of 2"),
        ("--master-port=65536", "port 65536"),
        ("--nnodes=2 --node-rank=1", "2 machines without --master-addr"),
        ("--rdzv-backend=c10d", "unrecognized arguments: --rdzv-backend=c10d"),
        ("2", "unrecognized arguments: 2"),
        ("'", "No closing quotation"),
    ],
)
def test_flags_that_are_not_understood(flags: str, told: str) -> None:
    with pytest.raises(ParamsError, match=rf"HANYI_TORCHRUN: .*{told}.*expected some of --nproc"):
        read_layout(flags)
