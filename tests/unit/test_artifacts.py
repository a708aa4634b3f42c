from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest

from hanyi.artifacts import (
    atomic_directory,
    atomic_file,
    canonical_json,
    digest_bytes,
    digest_file,
    read_header,
    read_metrics,
    write_header,
    write_text,
)
from hanyi.errors import ArtifactError


def test_canonical_json_depends_on_values_alone() -> None:
    first = canonical_json({"b": 0.1 + 0.2, "a": {"y": 1, "x": "爱"}, "c": (1, 2.00000049)})
    second = canonical_json({"c": [1, 2.0], "a": {"x": "爱", "y": 1}, "b": 0.3})
    assert first == second
    assert first.endswith("}\n")
    assert "爱" in first
    assert json.loads(first) == {"a": {"x": "爱", "y": 1}, "b": 0.3, "c": [1, 2.0]}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_is_refused_by_name(number: float) -> None:
    with pytest.raises(ArtifactError, match=r"corpora\.hsk\.bleu: .*finite"):
        canonical_json({"corpora": {"hsk": {"bleu": [1.0, number]}}})


def test_digests_agree_and_tell_one_byte(tmp_path: Path) -> None:
    data = bytes(range(256)) * 5000  # more than one piece of 1 MiB
    (tmp_path / "a").write_bytes(data)
    assert digest_file(tmp_path / "a") == digest_bytes(data)
    assert digest_bytes(data) != digest_bytes(data[:-1] + b"\0")
    assert len(digest_bytes(b"")) == 32


def test_a_file_is_published_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.txt"
    write_text(path, "一\n二\n")
    assert path.read_bytes() == "一\n二\n".encode()
    write_text(path, "new\n")
    assert [item.name for item in path.parent.iterdir()] == ["a.txt"]


def _broken_file(path: Path, error: BaseException) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text("half")
        raise error


@pytest.mark.parametrize("error", [RuntimeError("bug"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path, error: BaseException) -> None:
    write_text(tmp_path / "a", "old")
    with pytest.raises(type(error)):
        _broken_file(tmp_path / "a", error)
    assert (tmp_path / "a").read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["a"]


def _broken_directory(path: Path, error: BaseException) -> None:
    with atomic_directory(path) as temporary:
        (temporary / "part").write_text("half")
        raise error


def test_a_directory_is_published_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with atomic_directory(path) as temporary:
        (temporary / "sub").mkdir()
        (temporary / "sub" / "a").write_text("1")
        assert not path.exists()
    with pytest.raises(RuntimeError):
        _broken_directory(path, RuntimeError("bug"))
    assert [item.name for item in tmp_path.iterdir()] == ["model"]
    assert (path / "sub" / "a").read_text() == "1"
    with atomic_directory(path) as temporary:
        (temporary / "b").write_text("2")
    assert [item.name for item in path.iterdir()] == ["b"]


@pytest.mark.parametrize(("holder", "call"), [(os, "fsync"), (Path, "replace")])
def test_a_full_disk_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: object, call: str
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(holder, call, full)
    line = r"out: No space left on device, expected .*; free space"
    with pytest.raises(ArtifactError, match=line) as file:
        write_text(tmp_path / "out", "text")
    with pytest.raises(ArtifactError, match=line), atomic_directory(tmp_path / "out") as temporary:
        (temporary / "a").write_text("1")
    assert "\n" not in str(file.value)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_that_is_no_matter_of_writing_keeps_its_kind(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_file(tmp_path / "out"):
        (tmp_path / "input that is not there").read_text()


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    (tmp_path / f".model.tmp-{dead.pid}").mkdir()
    (tmp_path / f".model.tmp-{os.getppid()}").mkdir()  # of one that still works on it
    with atomic_directory(tmp_path / "model") as temporary:
        (temporary / "a").write_text("1")
    assert sorted(item.name for item in tmp_path.iterdir()) == [
        f".model.tmp-{os.getppid()}",
        "model",
    ]


def test_a_place_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match="expected a place that can be written"):
        write_text(tmp_path / "file" / "below", "text")


def test_headers_say_kind_and_version(tmp_path: Path) -> None:
    path = tmp_path / "index.json"
    write_header(path, "hanyi.raw", 1, {"rows": 3})
    assert read_header(path, "hanyi.raw", 1) == {"kind": "hanyi.raw", "version": 1, "rows": 3}
    with pytest.raises(ArtifactError, match=r"hanyi\.raw version 1, expected hanyi\.raw version 2"):
        read_header(path, "hanyi.raw", 2)
    with pytest.raises(ArtifactError, match=r"expected hanyi\.model version 1"):
        read_header(path, "hanyi.model", 1)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'"hanyi.raw"'])
def test_a_broken_header_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "index.json"
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"index\.json") as caught:
        read_header(path, "hanyi.raw", 1)
    assert "\n" not in str(caught.value)


def test_a_missing_header_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"no such file.*dvc repro"):
        read_header(tmp_path / "index.json", "hanyi.raw", 1)


def test_a_description_or_metrics_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "bytes.json").write_bytes(b"\xff")
    for name, found in (("folder", "is a directory"), ("bytes", "broken JSON")):
        with pytest.raises(ArtifactError, match=rf"{name}\.json: {found}"):
            read_header(tmp_path / f"{name}.json", "hanyi.raw", 1)
        with pytest.raises(ArtifactError, match=rf"{name}\.json: {found}"):
            read_metrics(tmp_path / f"{name}.json")


def test_a_linked_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk/model").mkdir(parents=True)
    (tmp_path / "model").symlink_to(tmp_path / "disk/model")
    with atomic_directory(tmp_path / "model") as temporary:
        (temporary / "a").write_text("1")
    assert (tmp_path / "model").is_symlink()
    assert (tmp_path / "disk/model/a").read_text() == "1"
    assert [item.name for item in (tmp_path / "disk").iterdir()] == ["model"]


def test_the_folder_that_we_are_in_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(ArtifactError, match="expected a place that can be written"):
        write_text(Path(), "text")
    assert list(tmp_path.iterdir()) == [tmp_path / "here"]
