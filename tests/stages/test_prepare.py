"""prepare: funnel, splits, leaks over several corpora, equal bytes, and refusals."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from ruamel.yaml import YAML

from hanyi.artifacts import digest_file
from hanyi.corpus import pipeline
from hanyi.corpus.pairs import RawFile, write_list
from hanyi.errors import ArtifactError, DataError, HanyiError, ParamsError
from hanyi.tracking import Tracker
from stages import prepare
from stages.paths import PREPARED, RAW

Rows = list[tuple[str, str]]
Project = Callable[..., None]


@pytest.fixture
def project(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Stand in an empty project; give the function that fills `data/raw` and sets parameters."""
    yaml = YAML()
    params = yaml.load((root / "params.yaml").read_text(encoding="utf-8"))
    params["prepare"].update(unicode="NFC", max_chars=400, length_ratio=[0.3, 20.0])
    params["prepare"]["split"].update(valid=3, test=5)
    monkeypatch.chdir(tmp_path)
    RAW.mkdir(parents=True)

    def fill(*corpora: tuple[str, str, Rows | bytes], **values: Any) -> None:
        params["prepare"].update(values)
        with Path("params.yaml").open("w", encoding="utf-8") as file:
            yaml.dump(params, file)
        files = []
        for corpus, role, rows in corpora:
            path = f"{corpus}.{role}.tsv"
            if not isinstance(rows, bytes):
                rows = "".join(f"{src}\t{tgt}\n" for src, tgt in rows).encode()  # noqa: PLW2901
            (RAW / path).write_bytes(rows)
            files.append(
                RawFile(
                    corpus=corpus,
                    role=role,
                    path=path,
                    format="tsv",
                    delimiter="\t",
                    src_column=0,
                    tgt_column=1,
                    columns=2,
                    header=False,
                    encoding="utf-8",
                    source=f"{corpus}-{role}.txt",
                )
            )
        write_list(RAW, files)

    return fill


def rows(count: int, word: str = "句子") -> Rows:
    return [(f"{word}{number}。", f"{word} number {number}.") for number in range(count)]


def table(name: str) -> list[dict[str, Any]]:
    return parquet.read_table(PREPARED / f"{name}.parquet").to_pylist()


def test_funnel_row_by_row(project: Project) -> None:
    dirt = (
        (
            "\u3000我 爱\xa0你 \tI  love you.\r\n"
            "\n"
            "一\t二\t三\n"
            "空\t\n"
            "长长长长长长长长长长长长长长长长长长长长长\tlong long long long long\n"
            "一二三四五六七八九十\tx\n"
            "OK\tOK\n"
            "我 爱 你\tI love you.\n"
        ).encode()
        + "坏".encode()[:2]
        + b"\tbad\n"
    )
    project(
        ("mine", "train", dirt), ("mine", "valid", rows(2, "甲")), ("mine", "test", rows(3, "乙")),
        max_chars=20,
    )  # fmt: skip
    metrics = prepare.main(Tracker())
    assert metrics == {
        "rows": {"read": 14, "kept": 6, "rejected": 8},
        "rejected": {
            "blank": 1, "columns": 1, "encoding": 1, "quotes": 0, "empty": 1, "over_long": 1,
            "length_ratio": 1, "identical": 1, "duplicate": 1, "leak": 0,
        },
        "splits": {"train": 1, "valid": 2, "test": 3},
        "corpora": {"mine": {"train": 1, "valid": 2, "test": 3}},
    }  # fmt: skip
    assert table("train") == [{"id": 0, "corpus": "mine", "src": "我 爱 你", "tgt": "I love you."}]
    assert [row["id"] for row in table("test")] == [11, 12, 13]
    assert [(row["line"], row["reason"]) for row in table("rejected")] == [
        (2, "blank"), (3, "columns"), (4, "empty"), (5, "over_long"), (6, "length_ratio"),
        (7, "identical"), (8, "duplicate"), (9, "encoding"),
    ]  # fmt: skip
    assert {row["file"] for row in table("rejected")} == {"mine-train.txt"}
    assert table("rejected")[1]["src"] == "一\t二\t三"
    assert table("rejected")[-1]["src"] == "\ufffd\tbad"


def test_leaks_are_removed_over_all_corpora(project: Project) -> None:
    project(
        ("a", "train", [*rows(4, "甲"), ("测试。", "other"), ("别的", "The test!"), ("校验", "v")]),
        ("a", "valid", [("校验", "a check"), ("新的", "THE TEST"), ("只有", "only this")]),
        ("b", "train", [("校验！", "check it"), ("自己", "own row")]),
        ("b", "test", [("测试", "the test."), ("测试", "the test."), ("又", "again")]),
    )
    metrics = prepare.main(Tracker())
    assert metrics["rejected"]["leak"] == 5
    assert metrics["rejected"]["duplicate"] == 1
    assert metrics["corpora"] == {
        "a": {"train": 4, "valid": 2, "test": 0},
        "b": {"train": 1, "valid": 0, "test": 2},
    }
    assert [(row["file"], row["line"]) for row in table("rejected") if row["reason"] == "leak"] == [
        ("a-train.txt", 5), ("a-train.txt", 6), ("a-train.txt", 7), ("a-valid.txt", 2),
        ("b-train.txt", 1),
    ]  # fmt: skip


def test_a_split_made_here_spares_the_given_ones(project: Project) -> None:
    shared = rows(6, "共")
    project(
        ("a", "all", [*rows(40, "甲"), *shared]),
        ("b", "test", shared),
        ("c", "train", rows(40, "甲")),
    )
    metrics = prepare.main(Tracker())
    assert metrics["corpora"] == {
        "a": {"train": 32, "valid": 3, "test": 5},
        "b": {"train": 0, "valid": 0, "test": 6},
        "c": {"train": 0, "valid": 0, "test": 0},
    }
    # The rest of c repeats a: 8 of its rows leak into the splits of a, 32 are there already.
    assert metrics["rejected"]["leak"] == len(shared) + 8
    assert metrics["rejected"]["duplicate"] == 32


def test_only_what_is_missing_is_split_off(project: Project) -> None:
    project(("a", "all", rows(40, "甲")), ("a", "test", rows(9, "乙")))
    assert prepare.main(Tracker())["corpora"] == {"a": {"train": 37, "valid": 3, "test": 9}}


def digests() -> dict[str, str]:
    return {path.name: digest_file(path) for path in sorted(PREPARED.iterdir())}


def test_same_bytes_twice_and_under_any_hash_seed(project: Project, root: Path) -> None:
    project(("a", "all", rows(60, "甲")), ("b", "train", rows(60, "乙") + rows(9, "甲")))
    prepare.main(Tracker())
    first = digests()
    assert set(first) == {"train.parquet", "valid.parquet", "test.parquet", "rejected.parquet"}
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-m", "stages.prepare"],
            env={
                **os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": seed,
                "HANYI_TRACKING": "off",
            },
            check=True,
        )  # fmt: skip
        assert digests() == first


def test_the_order_of_rows_does_not_change_the_split(project: Project) -> None:
    pairs = rows(60, "甲")
    found = []
    for order in (pairs, pairs[::-1]):
        project(("a", "all", order))
        prepare.main(Tracker())
        found.append({row["src"] for row in table("test")})
    assert found[0] == found[1]


def refused(kind: type[HanyiError], *words: str) -> None:
    with pytest.raises(kind) as caught:
        prepare.main(Tracker())
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line
    assert sorted(path.name for path in Path("data").iterdir()) == ["raw"]


def test_nothing_is_left(project: Project) -> None:
    project(("a", "train", [("同", "同")] * 3))
    refused(DataError, "all of 3 rows rejected (identical 3)", "fetch.files")


@pytest.mark.parametrize("missing", ["train", "valid", "test"])
def test_an_empty_split(project: Project, missing: str) -> None:
    parts = {split: rows(3, split) for split in ("train", "valid", "test")} | {
        missing: [("同", "同")]
    }
    project(*(("a", split, pairs) for split, pairs in parts.items()))
    refused(DataError, f"no rows left for {missing}", "identical 1")


def test_too_few_rows_to_split(project: Project) -> None:
    project(("a", "all", [*rows(8), ("同", "同")]))
    refused(
        DataError, "corpus a: 8 rows left (rejected: identical 1)", "5 for test", "prepare.split"
    )


def test_bad_raw_folder(project: Project) -> None:
    project(("a", "all", rows(20)))
    (RAW / "a.all.tsv").unlink()
    refused(ArtifactError, "data/raw/a.all.tsv", "dvc repro")
    (RAW / "corpora.json").write_text('{"kind": "hanyi.raw", "version": 1, "files": [{"x": 1}]}')
    refused(ArtifactError, "corpora.json", "dvc repro")
    (RAW / "corpora.json").unlink()
    refused(ArtifactError, "corpora.json", "no such file")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"unicode": "NFX"}, ["prepare", "NFX", "NFKC"]),
        ({"max_chars": "many"}, ["prepare.max_chars", "many"]),
        ({"max_char": 3}, ["prepare.max_char"]),
    ],
)
def test_bad_parameters(project: Project, values: dict[str, Any], words: list[str]) -> None:
    project(("a", "all", rows(20)), **values)
    refused(ParamsError, *words)


def test_full_disk_keeps_the_old_tables(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project(("a", "all", rows(20)))
    prepare.main(Tracker())
    before = digests()
    write_table = pipeline.write_table

    def full(path: Path, *rest: Any) -> None:
        write_table(path, *rest)
        if path.name.startswith("valid"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pipeline, "write_table", full)
    project(("a", "all", rows(30)))
    with pytest.raises(ArtifactError, match=r"data/prepared: No space left"):
        prepare.main(Tracker())
    assert digests() == before
    assert sorted(path.name for path in Path("data").iterdir()) == ["prepared", "raw"]
