"""Journals on disk: what a stage leaves behind, however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hanyi.errors import ArtifactError
from hanyi.tracking import journal as journals
from hanyi.tracking.journal import Journal, Reading, find_journals, open_journals

STAGE = """\
import sys, time
from pathlib import Path
from hanyi.tracking.journal import Journal
journal = Journal(Path.cwd(), "train", "sqlite:///x.db")
journal.append({"kind": "text", "text": "爱", "name": "a"})
journal._messages.write('{"kind": "te')
journal._messages.flush()
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_STAGE", raising=False)
    (tmp_path / "params.yaml").write_text("model: {heads: 4}\n")
    return tmp_path


def test_what_is_written_is_read_piece_by_piece(project: Path) -> None:
    written = Journal(project, "train", "sqlite:///x.db")
    (project / "curve.csv").write_text("step\n1\n")
    kept = written.keep(project / "curve.csv")
    (project / "curve.csv").unlink()
    written.append({"kind": "artifact", "path": kept})
    (read,) = (Reading(folder) for folder in find_journals(project))
    assert read.messages() == [{"kind": "artifact", "path": kept}]
    assert (read.folder / kept).read_text() == "step\n1\n"
    assert (read.folder / "params.yaml").read_text() == "model: {heads: 4}\n"
    assert read.messages() == []
    written.append({"kind": "end", "status": "FAILED"})
    assert read.in_use()
    written.close()
    assert not read.in_use()
    assert read.messages() == [{"kind": "end", "status": "FAILED"}]
    read.rewind()
    assert [message["kind"] for message in read.messages()] == ["artifact", "end"]
    read.fail("no server")
    assert written.fault() == read.fault() == "no server"
    assert not written.is_recorded()
    read.recover()
    assert written.fault() == ""
    read.remove()
    assert written.is_recorded()


def test_a_stage_that_was_killed_ends_so(project: Path, root: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    stage = subprocess.Popen(
        [sys.executable, "-c", STAGE], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert stage.stdout is not None
    assert stage.stdout.readline() == "ready\n"
    (read,) = (Reading(folder) for folder in find_journals(project))
    text = {"kind": "text", "text": "爱", "name": "a"}
    assert read.messages() == [text]  # not the line that is being written
    stage.send_signal(signal.SIGKILL)
    stage.communicate()
    (end,) = read.messages()
    assert (end["kind"], end["status"]) == ("end", "KILLED")
    read.rewind()
    assert [message["kind"] for message in read.messages()] == ["text", "end"]


def test_a_journal_of_another_version_is_told(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Journal(project, "train", "sqlite:///x.db").close()
    monkeypatch.setattr(journals, "VERSION", 2)
    found, errors = open_journals(project)
    assert found == []
    assert isinstance(errors[0], ArtifactError)
    assert "version 1" in str(errors[0])


def test_the_header_says_where_and_on_what(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_STAGE", "train")
    monkeypatch.setenv("DVC_EXP_NAME", "brave-fox")
    monkeypatch.setenv("DVC_EXP_BASELINE_REV", "c0ffee")
    written = Journal(project, "train", "http://host:1")
    fields = json.loads((written.folder / journals.HEADER).read_text(encoding="utf-8"))
    written.close()
    assert fields["parent"] == os.getppid()
    assert fields["workspace"] == str(project)
    assert fields["origin"]["experiment"] == "brave-fox"
    assert fields["origin"]["baseline"] == "c0ffee"
    assert {"machine.host", "machine.cpu", "machine.cores", "machine.memory"} <= set(
        fields["machine"]
    )
    assert {"python", "dvc", "mlflow", "torch"} <= set(fields["machine"])
