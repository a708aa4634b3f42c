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
from hanyi.corpus import tables
from hanyi.corpus.pairs import Part, write_list
from hanyi.corpus.tables import RAW as RAW_SCHEMA
from hanyi.corpus.tables import Row, TableWriter, row_blocks
from hanyi.errors import ArtifactError, DataError, HanyiError, ParamsError
from hanyi.tracking import Tracker
from stages import prepare
from stages.paths import FUNNEL, PREPARED, RAW

Rows = list[tuple[str, str]]
Project = Callable[..., None]

RULES = [
    {"rule": "unicode", "form": "NFC"},
    {"rule": "spaces"},
    {"rule": "empty"},
    {"rule": "chars", "least": 1, "most": 100},
    {"rule": "identical"},
]


@pytest.fixture
def project(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Stand in an empty project; give the function that fills `data/raw` and sets parameters."""
    yaml = YAML()
    params = yaml.load((root / "params.yaml").read_text(encoding="utf-8"))
    params["prepare"].update(
        rules=RULES, duplicates="exact", near_duplicates=None, leaks={"near": None},
        split={"valid": 3, "test": 5, "seed": 1},
    )  # fmt: skip
    monkeypatch.chdir(tmp_path)
    RAW.mkdir(parents=True)

    def fill(*corpora: tuple[str, str, Rows], **values: Any) -> None:
        params["prepare"].update(values)
        with Path("params.yaml").open("w", encoding="utf-8") as file:
            yaml.dump(params, file)
        parts = []
        for corpus, role, pairs in corpora:
            path = f"{corpus}.{role}.parquet"
            write_raw(RAW / path, f"{corpus}-{role}.txt", pairs)
            parts.append(Part(corpus=corpus, role=role, path=path, rows=len(pairs), weight=1.0))
        write_list(RAW, parts)

    return fill


def write_raw(path: Path, name: str, pairs: Rows) -> None:
    """Write rows as fetch would; a source that starts with "!" names its fault."""
    read = [
        Row(line, src, tgt, src.split()[0].removeprefix("!") if src.startswith("!") else None)
        for line, (src, tgt) in enumerate(pairs, start=1)
    ]
    with TableWriter(path, RAW_SCHEMA) as writer:
        for block in row_blocks(read):
            writer.write(block.add_column(0, RAW_SCHEMA.field("file"), [name] * len(block)))


def rows(count: int, word: str = "句子") -> Rows:
    return [(f"{word}{number}。", f"{word} number {number}.") for number in range(count)]


def table(name: str) -> list[dict[str, Any]]:
    return parquet.read_table(PREPARED / f"{name}.parquet").to_pylist()


def test_funnel_row_by_row(project: Project) -> None:
    dirt = [
        ("\u3000我 爱\xa0你 ", "I  love you."),
        ("!blank", ""),
        ("!columns 一\t二\t三", ""),
        ("空", " "),
        ("长" * 101, "long"),
        ("OK", "OK"),
        ("我 爱 你", "I love you."),
        ("!encoding \ufffd", ""),
    ]
    project(
        ("mine", "train", dirt), ("mine", "valid", rows(2, "甲")), ("mine", "test", rows(3, "乙"))
    )
    metrics = prepare.main(Tracker())
    assert metrics["rows"] == {"read": 13, "kept": 6, "rejected": 7}
    taken = {reason: count for reason, count in metrics["rejected"].items() if count}
    assert taken == dict.fromkeys(
        ["blank", "columns", "encoding", "empty", "chars", "identical", "duplicate"], 1
    )
    assert metrics["splits"] == {"train": 1, "valid": 2, "test": 3}
    assert metrics["corpora"] == {"mine": {"train": 1, "valid": 2, "test": 3}}
    assert table("train") == [{"id": 0, "corpus": "mine", "src": "我 爱 你", "tgt": "I love you."}]
    assert [row["id"] for row in table("test")] == [10, 11, 12]
    rejected = {row["line"]: row for row in table("rejected")}
    assert {line: row["reason"] for line, row in rejected.items()} == {
        2: "blank", 3: "columns", 4: "empty", 5: "chars", 6: "identical", 7: "duplicate",
        8: "encoding",
    }  # fmt: skip
    assert {row["file"] for row in rejected.values()} == {"mine-train.txt"}
    assert rejected[3]["src"] == "!columns 一\t二\t三"
    assert (rejected[4]["src"], rejected[4]["tgt"]) == ("空", " ")  # as it was read


def test_given_references_are_the_users(project: Project) -> None:
    """Sources of given files are repaired, references not; rules do not thin them out."""
    held = [
        ("甲  一", "One  one "),
        ("丙" * 130, "long " * 9),
        ("同", "同"),
        ("同", "同"),
        ("空", ""),
    ]
    project(("a", "train", rows(9)), ("a", "valid", rows(3, "乙")), ("a", "test", held))
    metrics = prepare.main(Tracker())
    assert [(row["src"], row["tgt"]) for row in table("test")] == [
        ("甲 一", "One  one "),
        *held[1:4],
    ]
    assert metrics["splits"]["test"] == 4
    assert metrics["rejected"]["empty"] == 1


def test_leaks_are_removed_over_all_corpora(project: Project) -> None:
    project(
        ("a", "train", [*rows(4, "甲"), ("测试。", "other"), ("别的", "The test!"), ("校验", "v")]),
        ("a", "valid", [("校验", "a check"), ("新的", "THE TEST"), ("只有", "only this")]),
        ("b", "train", [("校验！", "check it"), ("自己", "own row")]),
        ("b", "test", [("测试", "the test."), ("测试", "the test."), ("又", "again")]),
    )
    metrics = prepare.main(Tracker())
    assert metrics["rejected"]["leak"] == 5
    assert metrics["rejected"]["duplicate"] == 0  # a given file stays whole
    assert metrics["corpora"] == {
        "a": {"train": 4, "valid": 2, "test": 0},
        "b": {"train": 1, "valid": 0, "test": 3},
    }
    assert [(row["file"], row["line"]) for row in table("rejected") if row["reason"] == "leak"] == [
        ("a-train.txt", 5), ("a-train.txt", 6), ("a-train.txt", 7), ("a-valid.txt", 2),
        ("b-train.txt", 1),
    ]  # fmt: skip


def test_near_leaks(project: Project) -> None:
    near = "The committee will meet again on Thursday morning{}"
    project(
        ("a", "train", [*rows(4, "甲"), ("星期四", near.format(" at nine")), ("别的", "Other")]),
        ("a", "valid", rows(2, "乙")), ("a", "test", [("委员会周四再开会", near.format(""))]),
        leaks={"near": 0.7},
    )  # fmt: skip
    assert prepare.main(Tracker())["rejected"]["near_leak"] == 1
    assert [row["line"] for row in table("rejected")] == [5]


def test_a_split_made_here_keeps_what_is_alike_together(project: Project) -> None:
    stems = [
        "".join(chr(0x4E00 + (n * 7919 + at * n * 31) % 20000) for at in range(20))
        for n in range(40)
    ]
    pairs = [
        (f"{stem}{end}", f"{n} {end}") for n, stem in enumerate(stems) for end in ("。", "呢。")
    ]
    project(("a", "all", pairs), leaks={"near": 0.8}, split={"valid": 6, "test": 10, "seed": 1})
    metrics = prepare.main(Tracker())
    assert metrics["rejected"]["near_leak"] == 0
    assert metrics["splits"] == {"train": 64, "valid": 6, "test": 10}
    found = {
        split: {row["src"].replace("呢", "") for row in table(split)}
        for split in ("train", "valid", "test")
    }
    assert not found["train"] & (found["valid"] | found["test"])
    assert not found["valid"] & found["test"]


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
    assert metrics["rejected"]["leak"] == len(shared)
    assert metrics["rejected"]["duplicate"] == 40  # c repeats a


def test_splits_made_here_are_kept_from_other_corpora(project: Project) -> None:
    pairs = rows(40, "甲")
    others = [(src, f"{tgt} Again and again") for src, tgt in pairs]
    project(("a", "all", pairs), ("b", "train", others))
    metrics = prepare.main(Tracker())
    assert metrics["corpora"]["b"]["train"] == 32
    assert metrics["rejected"]["leak"] == 8


def test_splits_made_here_are_kept_from_a_part_for_train_of_the_same_corpus(
    project: Project,
) -> None:
    pairs = rows(40, "甲")
    again = [(src, f"{tgt} Again and again") for src, tgt in pairs]
    project(("a", "all", pairs), ("a", "train", again))
    metrics = prepare.main(Tracker())
    assert metrics["splits"] == {"train": 64, "valid": 3, "test": 5}
    assert metrics["rejected"]["leak"] == 8


@pytest.mark.parametrize(("duplicates", "taken"), [("none", 0), ("exact", 1), ("folded", 2)])
def test_duplicates(project: Project, duplicates: str, taken: int) -> None:
    pairs = [*rows(30), ("句子1。", "句子 number 1."), ("句子 1！", "句子 Number 1")]
    project(
        ("a", "train", pairs), ("a", "valid", rows(2, "甲")), ("a", "test", rows(2, "乙")),
        duplicates=duplicates,
    )  # fmt: skip
    assert prepare.main(Tracker())["rejected"]["duplicate"] == taken


def test_near_duplicates(project: Project) -> None:
    long = "委员会将于星期四上午再次开会讨论提案的全部内容{}"
    english = "The committee will meet again on Thursday morning to discuss the proposals{}"
    pairs = [
        *rows(5),
        (long.format("。"), english.format(".")),
        (long.format("吗"), english.format(" now")),
    ]
    project(
        ("a", "train", pairs), ("a", "valid", rows(2, "甲")), ("a", "test", rows(2, "乙")),
        near_duplicates=0.8,
    )  # fmt: skip
    assert prepare.main(Tracker())["rejected"]["near_duplicate"] == 1
    assert [(row["line"], row["reason"]) for row in table("rejected")] == [(7, "near_duplicate")]


def test_swapped_columns_are_said(project: Project) -> None:
    wrong = [(f"A whole sentence, number {number}.", f"这是句子{number}。") for number in range(9)]
    project(
        ("a", "train", [*rows(2, "我们"), *wrong]), ("a", "test", rows(2)),
        rules=[{"rule": "swapped", "share": 0.5}],
    )  # fmt: skip
    refused(DataError, "corpus a, train", "swapped in 9 rows", "src_column")


def test_only_what_is_missing_is_split_off(project: Project) -> None:
    project(("a", "all", rows(40, "甲")), ("a", "test", rows(9, "乙")))
    assert prepare.main(Tracker())["corpora"] == {"a": {"train": 37, "valid": 3, "test": 9}}


def digests() -> dict[str, str]:
    return {path.name: digest_file(path) for path in sorted(PREPARED.iterdir())}


def test_same_bytes_twice_and_under_any_hash_seed(project: Project, root: Path) -> None:
    project(("a", "all", rows(60, "甲")), ("b", "train", rows(60, "乙") + rows(9, "甲")))
    prepare.main(Tracker())
    first = digests()
    assert set(first) == {
        "corpora.json", "rejected.parquet", "test.parquet", "train.parquet", "valid.parquet"
    }  # fmt: skip
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
    refused(DataError, "all of 3 rows rejected (identical 3)", "prepare.rules")


@pytest.mark.parametrize("missing", ["train", "valid", "test"])
def test_an_empty_split(project: Project, missing: str) -> None:
    parts = {split: rows(3, split) for split in ("train", "valid", "test")} | {
        missing: [("空", "")]
    }
    project(*(("a", split, pairs) for split, pairs in parts.items()))
    refused(DataError, f"no rows left for {missing}", "empty 1")


def test_too_few_rows_to_split(project: Project) -> None:
    project(("a", "all", [*rows(8), ("同", "同")]))
    refused(DataError, "corpus a: 8 rows left of 9", "5 for test", "prepare.split")


def test_bad_raw_folder(project: Project) -> None:
    project(("a", "all", rows(20)))
    (RAW / "a.all.parquet").unlink()
    refused(ArtifactError, "data/raw/a.all.parquet", "dvc repro")
    (RAW / "corpora.json").write_text('{"kind": "hanyi.raw", "version": 2, "parts": [{"x": 1}]}')
    refused(ArtifactError, "corpora.json", "dvc repro")
    (RAW / "corpora.json").unlink()
    refused(ArtifactError, "corpora.json", "no such file")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"rules": [{"rule": "unicode", "form": "NFX"}]}, ["prepare.rules.0", "NFX", "NFKC"]),
        ({"rules": [{"rule": "chars", "least": 1, "most": "many"}]}, ["prepare.rules.0", "many"]),
        ({"rules": [{"rule": "magic"}]}, ["prepare.rules.0", "magic", "identical"]),
        ({"rule": 3}, ["prepare.rule"]),
    ],
)
def test_bad_parameters(project: Project, values: dict[str, Any], words: list[str]) -> None:
    project(("a", "all", rows(20)), **values)
    refused(ParamsError, *words)


def test_full_disk_keeps_the_old_tables(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project(("a", "all", rows(20)))
    prepare.main(Tracker())
    before = digests()

    def full(writer: TableWriter) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    project(("a", "all", rows(30)))
    monkeypatch.setattr(TableWriter, "_flush", full)
    with pytest.raises((ArtifactError, OSError), match=r"No space left"):
        prepare.main(Tracker())
    assert digests() == before
    assert sorted(path.name for path in Path("data").iterdir()) == ["prepared", "raw"]


def test_bytes_depend_on_no_number_of_workers_and_no_block_size(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [
        *rows(60, "甲"),
        ("坏\u200b  的", "bad  ones"),
        ("!columns x", ""),
        ("甲1。", "x"),
        ("!blank", ""),
    ] * 3
    found = []
    for size, workers in ((7, "1"), (7, "3"), (64, "2"), (1 << 16, "1")):
        monkeypatch.setattr(tables, "ROW_GROUP", size)
        monkeypatch.setenv("HANYI_WORKERS", workers)
        project(("a", "all", pairs), ("b", "train", rows(50, "丙")), leaks={"near": 0.8})
        monkeypatch.setattr(tables, "ROW_GROUP", 16)
        prepare.main(Tracker())
        found.append(digests())
    assert found[1:] == found[:1] * 3


def test_lengths_are_those_of_the_published_rows(project: Project) -> None:
    texts = [(f"{'长' * (1 + n % 30)}{n}", f"{'w' * (n % 90)} {n}") for n in range(120)]
    project(("mine", "all", texts))
    prepare.main(Tracker())
    lines = (FUNNEL / "lengths.csv").read_text(encoding="utf-8").splitlines()
    rows = [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]
    begins = [int(row["chars"]) for row in rows]
    for split in ("train", "valid", "test"):
        table = parquet.read_table(PREPARED / f"{split}.parquet")
        for side in ("src", "tgt"):
            sizes = [len(text) for text in table[side].to_pylist()]
            for begin, after, row in zip(begins, [*begins[1:], 10**9], rows, strict=True):
                share = sum(begin <= size < after for size in sizes) / len(sizes)
                assert float(row[f"{split}_{side}"]) == pytest.approx(share, abs=1e-6)
