"""Files below the inputs folder: paths, globs, folders of parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hanyi.corpus.sources.config import CorpusConfig
from hanyi.corpus.sources.files import find_files, name_below
from hanyi.errors import DataError

WHERE = "fetch.corpora.0"
FILES = (
    "a.tsv",
    "b.tsv.gz",
    "[x].tsv",
    ".hidden.tsv",
    "news/2.tsv",
    "news/10.tsv",
    "news/_note.txt",
    "moses/1.zh",
    "moses/1.en",
    "moses/2.zh",
    "moses/2.en",
    "parts/part-1.parquet",
    "parts/part-0.snappy.parquet",
    "parts/_SUCCESS",
    "parts/_metadata.parquet",
    "parts/.part-0.parquet.crc",
    "parts/_temporary/0/part-2.parquet",
    "parts/year=2024/part-0.parquet",
    "empty/readme.txt",
)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    (tmp_path / "outside.tsv").touch()
    return tmp_path / "in"


def found(inputs: Path, *source: str) -> list[Any]:
    names = source[0] if len(source) == 1 else source
    corpus = CorpusConfig(name="x", source=names)  # type: ignore[arg-type]
    files = [
        tuple(name_below(path, inputs) for path in paths)
        for paths in find_files(corpus, inputs, WHERE)
    ]
    return [paths[0] if len(paths) == 1 else paths for paths in files]


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("a.tsv", ["a.tsv"]),
        ("news/../a.tsv", ["a.tsv"]),
        ("*.tsv*", ["[x].tsv", "a.tsv", "b.tsv.gz"]),
        ("[x].tsv", ["[x].tsv"]),
        ("[ab].tsv*", ["a.tsv", "b.tsv.gz"]),
        ("news/*.tsv", ["news/10.tsv", "news/2.tsv"]),
        ("**/2.*", ["moses/2.en", "moses/2.zh", "news/2.tsv"]),
        (
            "parts",
            [
                "parts/part-0.snappy.parquet",
                "parts/part-1.parquet",
                "parts/year=2024/part-0.parquet",
            ],
        ),
        ("parts/year=*", ["parts/year=2024/part-0.parquet"]),
        ("parts/part-*.parquet", ["parts/part-0.snappy.parquet", "parts/part-1.parquet"]),
    ],
)
def test_one_name(inputs: Path, source: str, files: list[str]) -> None:
    assert found(inputs, source) == files


def test_an_absolute_name_inside(inputs: Path) -> None:
    assert found(inputs, str(inputs / "a.tsv")) == ["a.tsv"]


def test_pairs(inputs: Path) -> None:
    assert found(inputs, "moses/1.zh", "moses/1.en") == [("moses/1.zh", "moses/1.en")]
    pairs = [("moses/1.zh", "moses/1.en"), ("moses/2.zh", "moses/2.en")]
    assert found(inputs, "moses/*.zh", "moses/*.en") == pairs


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (["gone.tsv"], ["gone.tsv", "no such file", "a.tsv", "b.tsv.gz"]),
        (["*.csv"], ["*.csv matches nothing", "fetch.corpora.0.source"]),
        (["empty"], ["no .parquet file", "empty/*.tsv.gz"]),
        (["../outside.tsv"], ["fetch.corpora.0.source", "below fetch.inputs"]),
        (["../*.tsv"], ["below fetch.inputs"]),
        (["/etc/passwd"], ["below fetch.inputs"]),
        (["."], ["below fetch.inputs"]),
        (["moses/*.zh", "moses/1.en"], ["2 files and 1 files", "as many"]),
    ],
)
def test_refusals(inputs: Path, source: list[str], words: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        found(inputs, *source)
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line, line


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"fetch.inputs: no folder"):
        found(tmp_path / "none", "a.tsv")
