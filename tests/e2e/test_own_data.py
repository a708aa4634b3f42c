"""The user's own files: any columns, any delimiter, with or without valid and test."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from tests.e2e.conftest import First
from tests.e2e.workspace import Workspace, corpus, write_table

pytestmark = pytest.mark.slow


def prepare(workspace: Workspace) -> None:
    """Run the stages that read the corpus."""
    workspace.stage("fetch")
    workspace.stage("prepare")


def test_columns_the_other_way_round(first: First, built: Workspace) -> None:
    """The same rows, however written, become the same Parquet, but for the names of files."""
    rows = [("x", chinese, english) for english, chinese in corpus()]
    write_table(built.path / "data/inputs/other.txt", rows, delimiter="|")
    built.edit(
        **{
            "fetch.corpora": [{"name": "mine", "source": "other.txt"}],
            "fetch.reading.delimiter": "|",
            "fetch.reading.src_column": 1,
            "fetch.reading.tgt_column": 2,
        }
    )
    prepare(built)
    splits = [f"data/prepared/{split}.parquet" for split in ("train", "valid", "test")]
    expected = first.copy.digests("data/prepared")
    assert {path: built.digests("data/prepared")[path] for path in splits} == {
        path: expected[path] for path in splits
    }


def test_given_splits_and_gzip_and_the_other_direction(built: Workspace) -> None:
    rows = corpus()
    parts = {"train": rows[:90] + rows[95:100], "valid": rows[90:100], "test": rows[100:]}
    for name, part in parts.items():
        text = "en,zh\r\n" + "".join(f'"{english}",{chinese}\r\n' for english, chinese in part)
        (built.path / f"data/inputs/{name}.csv.gz").write_bytes(gzip.compress(text.encode("utf-8")))
    built.edit(
        **{
            "languages": {"src": "en", "tgt": "zh"},
            "fetch.corpora": [
                {"name": "mine", "source": f"{name}.csv.gz", "role": name} for name in parts
            ],
            "fetch.reading.header": True,
            "fetch.reading.src_column": "en",
            "fetch.reading.tgt_column": "zh",
        },
    )
    prepare(built)
    found = built.metrics("prepare")
    assert found["splits"] == {"train": 90, "valid": 10, "test": 20}
    assert found["rows"] == {"read": 125, "kept": 120, "rejected": 5}


def test_a_changed_file_is_fetched_again(built: Workspace) -> None:
    write_table(built.path / "data/inputs/train.tsv", corpus()[:100])
    status = built.dvc("status", "fetch").out
    assert "data/inputs" in status


def test_fresh_clone_without_the_file(clone: Callable[[], Workspace]) -> None:
    workspace = clone()
    (workspace.path / "data/inputs/train.tsv").unlink()
    done = workspace.stage("fetch", expect=2)
    assert len(done.faults) == 1
    assert "train.tsv" in done.faults[0]
    assert workspace.digests() == {}
