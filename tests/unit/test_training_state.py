from __future__ import annotations

import logging
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from hanyi.errors import ArtifactError
from hanyi.training.sealed import read_sealed, write_sealed
from hanyi.training.state import StateFolder, code_digest, fingerprint, fresh_wanted, state_root
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


def flip(path: Path, share: float = 0.5) -> None:
    """Change one bit of the byte at a share of the file."""
    data = bytearray(path.read_bytes())
    data[int(share * (len(data) - 1))] ^= 1
    path.write_bytes(data)


def truncate(path: Path, share: float) -> None:
    os.truncate(path, int(share * (path.stat().st_size - 1)))


SHARES = (0.0, 0.01, 0.3, 0.5, 0.7, 0.99, 1.0)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("damage", [flip, truncate])
@pytest.mark.parametrize("name", ["state.pt", "state.json"])
def test_a_broken_state_gives_way_to_the_one_before(
    state: StateFolder,
    damage: Callable[[Path, float], None],
    name: str,
    share: float,
    caplog: pytest.LogCaptureFixture,
) -> None:
    damage(state.path / "step-000000003" / name, share)
    with caplog.at_level(logging.WARNING):
        assert loaded_step(state) == 2
    assert "step-000000003: a broken training state" in caplog.text
    assert not (state.path / "step-000000003").exists()


@pytest.mark.parametrize("name", ["state.pt", "state.json"])
def test_a_lost_file_gives_way_to_the_state_before(state: StateFolder, name: str) -> None:
    (state.path / "step-000000003" / name).unlink()
    assert loaded_step(state) == 2


def test_every_byte_of_a_sealed_file_counts(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    fields = {"rate": 1e-9, "names": ["a", "é"], "inner": {"x": None, "y": float("inf")}}
    write_sealed(file, "hanyi.run", 1, fields)
    assert read_sealed(file, "hanyi.run", 1) == fields
    whole = file.read_bytes()
    for place in range(len(whole)):
        for spoilt in (
            whole[:place],
            whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :],
        ):
            file.write_bytes(spoilt)
            with pytest.raises(ArtifactError, match="broken"):
                read_sealed(file, "hanyi.run", 1)
    file.write_bytes(whole)
    with pytest.raises(ArtifactError, match=r"hanyi\.run version 1, expected hanyi\.run version 2"):
        read_sealed(file, "hanyi.run", 2)


RUN = {"sections": {"train": {"betas": (0.9, 0.98), "learning_rate": 1e-9}}, "steps": 12}


def test_what_is_trained_is_written_once(state: StateFolder) -> None:
    assert state.run() is None
    state.describe(RUN)
    written = (state.path / "run.json").stat().st_mtime_ns
    state.describe(RUN)
    assert (state.path / "run.json").stat().st_mtime_ns == written
    found = state.run()
    assert found
    assert found["sections"]["train"] == {"betas": [0.9, 0.98], "learning_rate": 1e-9}


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("damage", [flip, truncate])
def test_what_is_trained_is_mended(
    state: StateFolder,
    damage: Callable[[Path, float], None],
    share: float,
    caplog: pytest.LogCaptureFixture,
) -> None:
    state.describe(RUN)
    damage(state.path / "run.json", share)
    assert state.run() is None
    state.describe(RUN)
    assert "run.json: broken, written anew" in caplog.text
    assert state.run()
    assert loaded_step(state) == 3, "the generations do not depend on it"


def test_a_listing_reads_no_tensors(state: StateFolder) -> None:
    history = [{"step": 4, "chrf": 1.5, "samples": ["long"]}]
    state.save(4, {"progress": {"epoch": 2, "history": history}})
    flip(state.path / "step-000000004/state.pt")
    newest, older = state.generations()
    assert (newest.step, newest.epoch, newest.history) == (4, 2, [{"step": 4, "chrf": 1.5}])
    assert (older.step, older.epoch, older.history) == (3, None, [])


def test_a_state_is_not_replaced_by_itself(state: StateFolder) -> None:
    """The only one would be gone for a moment, and with it all that was trained."""
    file = state.path / "step-000000003/state.pt"
    before = file.stat().st_ino
    state.save(3, payload(3))
    assert file.stat().st_ino == before
    flip(file)
    state.save(3, payload(3))
    assert loaded_step(state) == 3


def test_beginning_anew_says_what_is_left_out(
    state: StateFolder, caplog: pytest.LogCaptureFixture
) -> None:
    with state.locked():
        state.clear()
        assert "the state after update 3, saved 0 minutes ago, is removed" in caplog.text
        assert state.load() is None
        state.clear()
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("0", False), ("", False)])
def test_fresh_is_asked_for(value: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANYI_FRESH", value)
    assert fresh_wanted() == expected
    monkeypatch.delenv("HANYI_FRESH")
    assert not fresh_wanted()


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


def test_the_lock_holds_in_a_forked_process(state: StateFolder) -> None:
    def work() -> None:
        with pytest.raises(ArtifactError, match="another process trains"):
            StateFolder(state.path).locked().__enter__()

    with state.locked():
        assert state.in_use()
        assert in_child(work) == 0
        assert state.in_use(), "the end of the child frees nothing"
        assert in_child(work) == 0
    assert not state.in_use()


def test_a_forked_process_that_is_left_does_not_keep_the_lock(state: StateFolder) -> None:
    read, write = os.pipe()

    def work() -> None:
        with state.locked():
            if (orphan := os.fork()) == 0:
                time.sleep(30)
                os._exit(0)
            os.write(write, str(orphan).encode())
            die()

    assert in_child(work) == -9
    orphan = int(os.read(read, 20))
    try:
        with state.locked():
            assert loaded_step(state) == 3
    finally:
        os.kill(orphan, signal.SIGKILL)


# All by which a save changes files; each is called through its module or class.
OPERATIONS = {
    "open": os, "fsync": os, "replace": os, "rename": os, "mkdir": os, "rmdir": os, "unlink": os,
}  # fmt: skip


def die_at(number: int, *, after: bool) -> None:
    """Kill this process before or after the n-th operation on files."""
    calls = 0

    def deadly(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            nonlocal calls
            calls += 1
            now = calls == number
            if now and not after:
                die()
            try:
                return real(*args, **kwargs)
            finally:
                if now:
                    die()

        return call

    for name, owner in OPERATIONS.items():
        setattr(owner, name, deadly(getattr(owner, name)))
    Path.replace = deadly(Path.replace)  # type: ignore[method-assign, assignment]
    Path.open = deadly(Path.open)  # type: ignore[method-assign, assignment]
    torch.save = deadly(torch.save)  # type: ignore[assignment]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("older", [0, 1, 2])
def test_a_kill_at_any_step_of_a_save_loses_nothing_older(
    tmp_path: Path, older: int, after: bool
) -> None:
    """With no generation before, with one, and with two, of which the save drops one."""
    steps = range(1, 200)
    for number in steps:
        state = StateFolder(tmp_path / str(number))
        with state.locked():
            for step in range(1, older + 1):
                state.save(step, payload(step))

        def work(state: StateFolder = state, number: int = number) -> None:
            with state.locked():
                die_at(number, after=after)
                state.save(older + 1, payload(older + 1))

        code = in_child(work)
        with state.locked():
            assert loaded_step(state) in {older or None, older + 1}
            if code == 0:  # there are no more operations
                assert loaded_step(state) == older + 1
                break
            state.save(older + 1, payload(older + 1))
            assert not list(state.path.glob(".*tmp*"))
            assert loaded_step(state) == older + 1
            assert len(list(state.path.glob("step-*"))) == min(older + 1, 2)
    assert 12 < number < 199, "the operations of a save must be seen"


def test_a_save_is_on_the_disk_before_it_counts(
    state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file and each folder is synced, the folder of generations last."""
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        events.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        events.append(f"-> {target.name}")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    state.save(4, payload(4))
    place = events.index("-> step-000000004")
    assert {"state.pt", "state.json"} <= set(events[:place])
    assert events[place - 1].startswith(".step-000000004.tmp")
    assert events[place + 1] == "abc"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a folder on a disk of 64 KiB; who may not mount one is left out."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small disk is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("floats", [30_000, 11_000, 6_500])
def test_a_disk_that_is_really_full(small_disk: Path, floats: int) -> None:
    """Whether it is full in the midst of the tensors or near their end."""
    state = StateFolder(small_disk / "state")
    with state.locked():
        state.save(1, payload(1))
        state.save(2, payload(2))
        (small_disk / "filler").write_bytes(bytes(8 * 4096))

        def fill() -> None:
            for step in range(3, 9):
                state.save(step, {"w": torch.zeros(floats), "step": step})

        with pytest.raises(ArtifactError) as raised:
            fill()
        assert "cannot be written (No space left on device)" in str(raised.value)
        assert "\n" not in str(raised.value)
        assert not list(state.path.glob(".*tmp*"))
        kept = loaded_step(state)
        assert kept
        (small_disk / "filler").unlink()
        state.save(9, payload(9))  # training goes on from there once there is room
        assert loaded_step(state) == 9


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
