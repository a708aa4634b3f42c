"""Prepared rows from another engine, as a folder of Parquet parts, in the place of a file."""

from __future__ import annotations

import pytest
from pyarrow import parquet

from tests.e2e.workspace import Workspace, ran

pytestmark = pytest.mark.slow


def test_parts_in_the_place_of_the_prepared_file(built: Workspace) -> None:
    """The steps of docs/corpora.md: freeze prepare, commit the parts."""
    file = built.path / "data/prepared/train.parquet"
    rows = parquet.read_table(file)
    before = built.digests("models/tokenizers", "data/encoded")
    file.unlink()
    file.mkdir()
    half = rows.num_rows // 2
    for number, part in enumerate((rows.slice(0, half), rows.slice(half))):
        parquet.write_table(part, file / f"part-{number:05d}.parquet")
    (file / "_SUCCESS").touch()
    built.dvc("freeze", "prepare")
    built.dvc("commit", "--force", "prepare")
    done = built.dvc("repro", "encode")
    assert ran(done) == ["tokenizers", "encode"]
    assert file.is_dir()
    assert built.digests("models/tokenizers", "data/encoded") == before
