from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from dvc.repo import Repo

from hanyi.errors import ArtifactError, HanyiError, ParamsError
from hanyi.revisions import Revision, ask_dvc, file_at, git

ANYONE = {
    f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}
LOST = "metrics/lost"
TORN = "metrics/torn"  # a folder whose list of files is lost
FILES = ("models/all/a.txt", "models/all/b/c.txt", "metrics/rows.csv", "params.yaml")


def commit(folder: Path, *, tag: str) -> None:
    """Add the outputs with DVC and all else with git."""
    with Repo(str(folder)) as repo:
        repo.add([str(folder / name) for name in ("models/all", "metrics/rows.csv", LOST, TORN)])
    for arguments in (["add", "."], ["commit", "-qm", tag], ["tag", tag]):
        subprocess.run(
            ["git", *arguments],
            cwd=folder,
            check=True,
            capture_output=True,
            env=os.environ | ANYONE,
        )


@pytest.fixture(scope="module", params=["", "below", " far/北 京"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a project of two revisions, at the top of its repository or below; a file is lost."""
    top: Path = tmp_path_factory.mktemp("repository")
    root: Path = top / request.param
    root.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", "-b", "main", top], check=True)
    Repo.init(str(root), subdir=bool(request.param)).close()
    for word in ("first", "second"):
        for name in (*FILES, f"{TORN}/part"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(f"{name} {word}\n")
        (root / LOST).write_text(f"lost {word}\n")
        commit(root, tag=word)
    for entry in (root / ".dvc/cache").rglob("*"):
        if entry.is_file() and (
            entry.read_text() == "lost first\n" or '"part"' in entry.read_text()
        ):
            entry.unlink()
    return root


@pytest.mark.parametrize("from_within", [True, False])
def test_files_are_as_the_revision_has_them(
    project: Path, monkeypatch: pytest.MonkeyPatch, from_within: bool
) -> None:
    monkeypatch.chdir(project if from_within else "/")
    files = Revision("first", None if from_within else project)
    assert files.revision == git("rev-parse", "first", root=project)
    for name in ("params.yaml", "metrics/rows.csv", "models/all/b/c.txt"):
        assert files.read(name) == f"{name} first\n".encode()
        assert files.read(Path(name)) == files.read(name)
    assert file_at("first", Path("params.yaml"), project) == files.read("params.yaml")


def test_folders_are_copied(project: Path, tmp_path: Path) -> None:
    assert Revision("first", project).copy("models/all", tmp_path / "all")
    found = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.txt")}
    assert found == {"all/a.txt", "all/b/c.txt"}
    assert (tmp_path / "all/b/c.txt").read_text() == "models/all/b/c.txt first\n"
    assert (project / "models/all/a.txt").read_text() == "models/all/a.txt second\n"


def test_what_is_not_to_be_had_is_none(project: Path, tmp_path: Path) -> None:
    files = Revision("first", project)
    assert files.knows(LOST)
    assert files.read(LOST) is None
    assert not files.copy(LOST, tmp_path / "lost")
    assert not files.knows("metrics/nothing")
    assert files.read("metrics/nothing") is None
    assert not files.copy("metrics/nothing", tmp_path / "nothing")
    assert files.knows(TORN)
    assert files.read(f"{TORN}/part") is None
    assert not files.copy(TORN, tmp_path / "torn")
    assert Revision("second", project).read(LOST) == b"lost second\n"


def test_a_name_that_is_not_known(project: Path) -> None:
    with pytest.raises(ParamsError, match=r"--rev: no revision or experiment nowhere, expected"):
        Revision("nowhere", project)
    mine = ParamsError("--model", "mine", "another", "name it")
    with pytest.raises(HanyiError) as caught:
        Revision("nowhere", project, unknown=mine)
    assert caught.value is mine


def test_no_project_of_dvc(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    with pytest.raises((ArtifactError, ParamsError)) as caught:
        Revision("HEAD", tmp_path)
    assert "\n" not in str(caught.value)


def test_dvc_is_asked_again_when_it_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`dvc exp show` does, when an experiment that it reads ends meanwhile."""
    answers: list[Any] = []

    def run(command: list[str], **options: Any) -> Any:
        answer = answers.pop(0)
        if answer is None:
            raise subprocess.TimeoutExpired(command, options["timeout"])
        return subprocess.CompletedProcess(command, *answer)

    monkeypatch.setattr("hanyi.revisions.subprocess.run", run)
    answers[:] = [None, (1, "", "gone"), (0, "[]", "")]
    assert ask_dvc("exp", "show", "--json") == "[]"
    answers[:] = [None, (1, "", "so\nit is"), (1, "", "so\nit is")]
    with pytest.raises(ArtifactError, match="dvc exp show: so it is, expected a project of DVC"):
        ask_dvc("exp", "show", "--json")
    answers[:] = [None, None, None]
    with pytest.raises(ArtifactError, match="dvc exp show: no answer in 120 seconds"):
        ask_dvc("exp", "show", "--json")


def test_dvc_answers(project: Path, tmp_path: Path) -> None:
    assert list(json.loads(ask_dvc("status", "--json", root=project))) == [f"{TORN}.dvc"]
    with pytest.raises(ArtifactError, match=r"dvc exp show: .*not inside of a DVC repository"):
        ask_dvc("exp", "show", "--json", root=tmp_path)
