from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STAGE = """\
import errno, os, sys, time
from pathlib import Path
from stages.harness import run
from hanyi.errors import DataError

def main(tracker):
    Path("started").write_text(str(os.getpid()))
    {body}

run("prepare", main)
"""


def start(root: Path, folder: Path, body: str) -> subprocess.Popen[str]:
    (folder / "stage.py").write_text(STAGE.format(body=body), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "stage.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root), "HANYI_TRACKING": "off"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A job in the background of a shell ignores SIGINT, and so would whatever it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def wait_for(path: Path) -> str:
    for _ in range(2000):
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.05)
    raise TimeoutError(path)


def test_metrics_are_published_as_canonical_json(root: Path, tmp_path: Path) -> None:
    stage = start(root, tmp_path, 'return {"rows": {"kept": 2, "a": 1 / 3}}')
    assert stage.communicate() == ("", "")
    assert stage.returncode == 0
    text = (tmp_path / "metrics" / "prepare.json").read_text()
    assert text == '{\n  "rows": {\n    "a": 0.333333,\n    "kept": 2\n  }\n}\n'


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (
            'raise DataError("a.tsv:3", "1 column", "2", "mend it")',
            "a.tsv:3: 1 column, expected 2;",
        ),
        ('raise OSError(errno.ENOSPC, "full", "data/x")', "data/x: no space left, expected room"),
        ('raise OSError(errno.EDQUOT, "quota")', "disk: no space left"),
        ('return {"loss": float("nan")}', "loss: nan, expected a finite number"),
    ],
)
def test_what_a_user_can_mend_is_one_line(root: Path, tmp_path: Path, body: str, line: str) -> None:
    stage = start(root, tmp_path, body)
    out, err = stage.communicate()
    assert stage.returncode == 2
    assert out == ""
    assert err.startswith(f"prepare: error: {line}")
    assert err.count("\n") == 1
    assert not (tmp_path / "metrics" / "prepare.json").exists()


@pytest.mark.parametrize("body", ["1 / 0", 'open("not there")'])
def test_a_bug_keeps_its_traceback(root: Path, tmp_path: Path, body: str) -> None:
    stage = start(root, tmp_path, body)
    _, err = stage.communicate()
    assert stage.returncode == 1
    assert "Traceback" in err
    assert body in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_stage_unwinds_and_says_so(
    root: Path, tmp_path: Path, number: signal.Signals
) -> None:
    body = 'try: time.sleep(60)\n    finally: Path("unwound").touch()'
    stage = start(root, tmp_path, body)
    wait_for(tmp_path / "started")
    time.sleep(0.3)  # let it reach its sleep
    stage.send_signal(number)
    _, err = stage.communicate(timeout=120)
    assert stage.returncode == 128 + number
    assert err == f"prepare: stopped by {number.name}\n"
    assert (tmp_path / "unwound").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG")
def test_a_stage_ends_with_its_parent(root: Path, tmp_path: Path) -> None:
    (tmp_path / "stage.py").write_text(STAGE.format(body="time.sleep(60)"), encoding="utf-8")
    code = f"import subprocess; subprocess.run([{sys.executable!r}, 'stage.py'])"
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root), "HANYI_TRACKING": "off"},
        stderr=subprocess.DEVNULL,
    )
    stage = int(wait_for(tmp_path / "started"))
    parent.kill()
    parent.wait()
    for _ in range(1000):
        if _ended(stage):
            return
        time.sleep(0.05)
    os.kill(stage, signal.SIGKILL)
    pytest.fail("the stage outlived its parent")


def _ended(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"  # dead, but nobody has collected it yet
