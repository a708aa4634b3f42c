"""The fetch section: what is accepted, and what each refusal says."""

from __future__ import annotations

from typing import Any

import pytest

from hanyi.corpus.sources.config import FetchConfig, weights_of
from hanyi.errors import ParamsError
from hanyi.params import parse

MINE = {"name": "mine", "source": "train.tsv"}
READING = {
    "format": "auto", "encoding": "auto", "delimiter": "auto", "src_column": 1, "tgt_column": 0,
    "header": False,
}  # fmt: skip


def section(*corpora: Any, **changes: Any) -> FetchConfig:
    everyday = {"sentences": 10, "valid": 1, "test": 1, "seed": 1}
    values = {"inputs": "x", "corpora": list(corpora), "everyday": everyday, "reading": READING}
    return parse("fetch", FetchConfig, values | changes)


def test_what_is_left_out_is_none() -> None:
    [corpus] = section(MINE).corpora
    assert (corpus.names, corpus.scheme, corpus.reading) == (("train.tsv",), "files", {})
    [corpus] = section(
        {**MINE, "source": ["a.zh", "a.en"], "src_column": "zh", "header": False}
    ).corpora
    assert corpus.names == ("a.zh", "a.en")
    assert corpus.reading == {"src_column": "zh", "header": False}


@pytest.mark.parametrize(
    ("source", "scheme", "detail"),
    [
        ("https://x.org/a.tsv", "url", "//x.org/a.tsv"),
        ("HTTP://x.org/a.tsv", "url", "//x.org/a.tsv"),
        ("mtdata:A-b-1-eng-zho", "mtdata", "A-b-1-eng-zho"),
        ("sacrebleu:wmt17", "sacrebleu", "wmt17"),
        ("starter:hsk", "starter", "hsk"),
        ("deep/*.tsv.gz", "files", ""),
        ("./odd:name.tsv", "files", "name.tsv"),
    ],
)
def test_schemes(source: str, scheme: str, detail: str) -> None:
    [corpus] = section({"name": "x", "source": source}).corpora
    assert (corpus.scheme, corpus.detail) == (scheme, detail)


def test_one_weight_for_a_name() -> None:
    found = section(
        {**MINE, "weight": 2},
        {"name": "other", "source": "b.tsv"},
        {"name": "mine", "source": "c.tsv"},
        {"name": "mine", "source": "d.tsv", "weight": 2.0},
        {"name": "none", "source": "e.tsv", "weight": 0},
    )
    assert weights_of(found.corpora) == {"mine": 2.0, "other": 1.0, "none": 0.0}


FAULTS: dict[str, tuple[list[Any], list[str]]] = {
    "none": ([], ["corpora", "1 to 256", "name: mine"]),
    "many": ([{"name": "x", "source": f"{n}.tsv"} for n in range(257)], ["1 to 256", "257"]),
    "name": ([{**MINE, "name": "my corpus/1"}], ["fetch.corpora.0", "my corpus/1"]),
    "no name": ([{"source": "x"}], ["fetch.corpora.0.name: missing"]),
    "no source": ([{"name": "x"}], ["fetch.corpora.0.source: missing"]),
    "misspelt": ([{**MINE, "haeder": True}], ["fetch.corpora.0.haeder: unknown key"]),
    "wrong type": ([{**MINE, "header": "yes"}], ["fetch.corpora.0.header", "yes"]),
    "no mapping": (["train.tsv"], ["fetch.corpora.0", "train.tsv"]),
    "empty source": ([{**MINE, "source": ""}], ["fetch.corpora.0", "empty"]),
    "scheme": ([{**MINE, "source": "ftp://x.org/a"}], ["corpora.0", "mtdata:ID", "ftp://x.org/a"]),
    "starter": ([{**MINE, "source": "starter:hks"}], ["everyday, hsk, glosses", "hks"]),
    "role": ([{**MINE, "role": "dev"}], ["role", "train, valid, test, all", "dev"]),
    "role of its own": (
        [{**MINE, "source": "starter:everyday", "role": "train"}], ["role", "starter:everyday"]
    ),
    "weight": ([{**MINE, "weight": -1}], ["weight", "at least 0", "-1"]),
    "weight nan": ([{**MINE, "weight": float("nan")}], ["corpora.0"]),
    "weight inf": ([{**MINE, "weight": float("inf")}], ["corpora.0"]),
    "two weights": (
        [{**MINE, "weight": 1}, {**MINE, "source": "b", "weight": 2}],
        ["corpora.1", "weight of mine", "1 and 2"],
    ),
    "twice": ([MINE, {**MINE, "name": "other"}], ["corpora.1", "corpora.0", "train.tsv"]),
    "sum": ([{**MINE, "source": "http://x.org/a", "sha256": "abc"}], ["sha256", "64", "abc"]),
    "sum of a file": ([{**MINE, "sha256": "0" * 64}], ["sha256", "http"]),
    "licence": ([{**MINE, "license": " CC\nBY"}], ["license", "CC-BY-4.0", "CC"]),
    "pair of URLs": ([{**MINE, "source": ["http://x.org/a", "b"]}], ["two different files"]),
    "pair of one": ([{**MINE, "source": ["a", "a"]}], ["two different files"]),
    "three": ([{**MINE, "source": ["a", "b", "c"]}], ["fetch.corpora.0.source"]),
    "format": ([{**MINE, "format": "xlsx"}], ["corpora.0.format", "xlsx", "tsv", "parquet"]),
    "encoding": ([{**MINE, "encoding": "utf8mb4"}], ["corpora.0.encoding", "utf8mb4", "gb18030"]),
    "delimiter": ([{**MINE, "delimiter": "||"}], ["corpora.0.delimiter", "||"]),
    "same columns": ([{**MINE, "src_column": 0}], ["corpora.0.src_column", "differ", "0 and 0"]),
    "negative": ([{**MINE, "src_column": -1}], ["corpora.0.src_column", "-1"]),
    "reading of a starter": (
        [{**MINE, "source": "starter:hsk", "format": "csv"}], ["format", "starter:hsk"]
    ),
    "reading of a test set": (
        [{**MINE, "source": "sacrebleu:wmt17", "encoding": "gbk"}], ["encoding", "wmt17"]
    ),
    "columns of a public corpus": (
        [{**MINE, "source": "mtdata:A-b-1-eng-zho", "src_column": 0}], ["src_column", "mtdata:A"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_one_line(case: str) -> None:
    corpora, words = FAULTS[case]
    with pytest.raises(ParamsError) as caught:
        section(*corpora)
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line, line


def test_ranges_of_the_starter() -> None:
    with pytest.raises(ParamsError, match=r"everyday.valid must be at least 1, got 0"):
        section(MINE, everyday={"sentences": 1, "valid": 0, "test": 1, "seed": 1})


def test_the_common_reading_is_checked_too() -> None:
    with pytest.raises(ParamsError, match=r"reading.format must be one of auto, tsv, csv"):
        section(MINE, reading={**READING, "format": "xls"})
