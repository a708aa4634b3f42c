from __future__ import annotations

import logging
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from hanyi.errors import ArtifactError
from hanyi.training.state import StateFolder, code_digest, fingerprint, state_root
from tests.training import die, in_child


def payload(step: int) -> dict[str, object]:
    return {"weights": {"w": torch.arange(1000.0) + step}, "step": step, "note": [0.1, None]}


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    folder = StateFolder(tmp_path / "train" / "abc")
    with folder.locked():
        for step in (1, 2, 3):
            folder.save(step, payload(step))
    return folder


def loaded_step(state: StateFolder) -> object:
    found = state.load()
    return found and found["step"]


def test_gives_back_what_was_saved(state: StateFolder) -> None:
    found = state.load()
    assert found is not None
    assert torch.equal(found["weights"]["w"], torch.arange(1000.0) + 3)
    assert found["note"] == [0.1, None]


def test_keeps_two_generations(state: StateFolder) -> None:
    assert sorted(path.name for path in state.path.glob("step-*")) == [
        "step-000000002",
        "step-000000003",
    ]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("damage", [flip, truncate, Path.unlink, lambda path: path.write_text("")])
@pytest.mark.parametrize("name", ["state.pt", "state.json"])
def test_a_broken_state_gives_way_to_the_one_before(
    state: StateFolder, damage: Callable[[Path], None], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    damage(state.path / "step-000000003" / name)
    with caplog.at_level(logging.WARNING):
        assert loaded_step(state) == 2
    assert "step-000000003: a broken training state" in caplog.text


def test_without_a_whole_state_there_is_none(
    state: StateFolder, caplog: pytest.LogCaptureFixture
) -> None:
    for file in state.path.glob("step-*/state.pt"):
        flip(file)
    assert state.load() is None
    assert "training starts anew" in caplog.text
    assert StateFolder(state.path.parent / "other").load() is None


def test_pickled_code_is_not_run(state: StateFolder, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str, ...]]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    state.save(4, {"trap": Trap()})
    with pytest.raises(Exception, match="Weights only"):
        state.load()
    assert not (tmp_path / "sprung").exists()


def test_a_second_trainer_is_told_in_one_line(state: StateFolder) -> None:
    with state.locked(), pytest.raises(ArtifactError, match="another process trains"):
        StateFolder(state.path).locked().__enter__()
    with StateFolder(state.path).locked():
        pass


def test_the_lock_ends_with_a_killed_trainer(state: StateFolder) -> None:
    def work() -> None:
        with state.locked():
            die()

    assert in_child(work) == -9
    with state.locked():
        assert loaded_step(state) == 3


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace", "torch.save"])
@pytest.mark.parametrize("before", [True, False])
def test_a_kill_during_a_save_loses_nothing_older(
    state: StateFolder, call: str, before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, name = call.rpartition(".")
    owner = {"os": os, "pathlib.Path": Path, "torch": torch}[module]
    real = getattr(owner, name)

    def deadly(*args: object, **kwargs: object) -> None:
        if before:
            die()
        real(*args, **kwargs)
        die()

    def work() -> None:
        setattr(owner, name, deadly)
        with state.locked():
            state.save(4, payload(4))

    assert in_child(work) == -9
    with state.locked():
        assert loaded_step(state) in {3, 4}
        assert not list(state.path.glob(".*tmp*"))


def test_a_full_disk_is_told_in_one_line(state: StateFolder) -> None:
    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        with state.locked(), pytest.raises(ArtifactError) as raised:
            state.save(4, {"w": torch.zeros(5000)})
        assert "cannot be written" in str(raised.value)
        assert "\n" not in str(raised.value)

    assert in_child(work) == 0
    assert loaded_step(state) == 3
    assert not list(state.path.glob(".*tmp*"))


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match="cannot be written"):
        StateFolder(tmp_path / "file" / "state").locked().__enter__()


def test_removed_whole(state: StateFolder) -> None:
    with state.locked():
        state.remove()
    assert not state.path.exists()


def test_fingerprint_sees_every_difference() -> None:
    parts = {"train": {"learning_rate": 1e-9, "seed": 1}, "code": "x"}
    same = {"code": "x", "train": {"seed": 1, "learning_rate": 1e-9}}
    other = {"code": "x", "train": {"seed": 1, "learning_rate": 1.1e-9}}
    assert fingerprint(parts) == fingerprint(same) != fingerprint(other)


def test_code_digest_follows_sources_alone(tmp_path: Path) -> None:
    (tmp_path / "room/inner").mkdir(parents=True)
    (tmp_path / "room/a.py").write_text("1")
    (tmp_path / "script.py").write_text("2")
    paths = [tmp_path / "room", tmp_path / "script.py"]
    before = code_digest(paths)
    (tmp_path / "room/__pycache__").mkdir()
    (tmp_path / "room/__pycache__/a.pyc").write_text("3")
    assert code_digest(paths) == before
    (tmp_path / "room/inner/b.py").write_text("4")
    assert code_digest(paths) != before


def test_states_outlive_a_temporary_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    assert state_root() == tmp_path / ".hanyi/train"
    monkeypatch.delenv("DVC_ROOT")
    assert state_root() == Path(".hanyi/train")
