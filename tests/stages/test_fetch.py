"""fetch: what it writes, what it refuses, and that a refusal leaves nothing behind."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hanyi.corpus.pairs import read_list
from hanyi.corpus.sources import starter
from hanyi.errors import ArtifactError, DataError, HanyiError, ParamsError
from hanyi.starter.everyday import EverydayConfig, EverydayPair
from hanyi.tracking import Tracker
from stages import fetch
from stages.paths import RAW

GOOD = "".join(f"Sentence {number}.\t句子{number}。\n" for number in range(30))

Edit = Callable[..., None]


@pytest.fixture
def edit(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edit:
    """Stand in a project with one good file; give the function that sets parameters there."""
    yaml = YAML()
    params = yaml.load((root / "params.yaml").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    Path("data/inputs").mkdir(parents=True)
    Path("data/inputs/train.tsv").write_text(GOOD, encoding="utf-8", newline="\n")

    def set_values(**values: Any) -> None:
        for name, value in values.items():
            *sections, key = name.split("__")
            inner = params
            for section in sections:
                inner = inner[section]
            inner[key] = value
        with Path("params.yaml").open("w", encoding="utf-8") as file:
            yaml.dump(params, file)

    set_values(fetch__corpus="files")
    return set_values


def put(name: str, content: str | bytes) -> None:
    path = Path("data/inputs") / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))


def leftovers() -> list[str]:
    return sorted(str(path) for path in Path("data").rglob("*") if "inputs" not in path.parts)


def refused(kind: type[HanyiError], *words: str) -> None:
    with pytest.raises(kind) as caught:
        fetch.main(Tracker())
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line
    assert leftovers() == []


def test_one_file_is_split_later(edit: Edit) -> None:
    metrics = fetch.main(Tracker())
    assert metrics == {"rows": 30, "corpora": {"mine": {"all": 30}}}
    [file] = read_list(RAW)
    assert (file.role, file.columns, file.source) == ("all", 2, "train.tsv")
    assert (RAW / file.path).read_text(encoding="utf-8") == GOOD


def test_given_splits_and_gzip(edit: Edit) -> None:
    put("test.tsv.gz", gzip.compress(GOOD.encode()))
    put("valid.tsv", GOOD + "\n\tx\n")
    edit(fetch__files__valid="valid.tsv", fetch__files__test="test.tsv.gz")
    metrics = fetch.main(Tracker())
    assert metrics["corpora"] == {"mine": {"train": 30, "valid": 32, "test": 30}}
    assert [file.role for file in read_list(RAW)] == ["train", "valid", "test"]
    assert (RAW / "mine.test.tsv.gz").is_file()


def test_only_the_test_file_is_given(edit: Edit) -> None:
    put("test.tsv", GOOD)
    edit(fetch__files__test="test.tsv")
    assert fetch.main(Tracker())["corpora"] == {"mine": {"all": 30, "test": 30}}


def test_absolute_folder_and_file(edit: Edit, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "deep").mkdir()
    (folder / "deep" / "mine.tsv").write_text(GOOD, encoding="utf-8")
    for name in ("deep/mine.tsv", str(folder / "deep/mine.tsv"), "deep/../deep/mine.tsv"):
        edit(fetch__inputs=str(folder), fetch__files__train=name)
        assert fetch.main(Tracker())["rows"] == 30


def test_the_new_corpus_takes_the_place_of_the_old(edit: Edit) -> None:
    RAW.mkdir(parents=True)
    (RAW / "old.tsv").touch()
    fetch.main(Tracker())
    assert sorted(path.name for path in RAW.iterdir()) == ["corpora.json", "mine.train.tsv"]


FILES: dict[str, tuple[str | bytes, list[str]]] = {
    "empty": ("", ["data/inputs/train.tsv:1", "empty"]),
    "one column": ("alone\n" * 9, ["train.tsv:1", "1 column", "fetch.files.delimiter"]),
    "header": ("english\tchinese\n" + GOOD, ["train.tsv:1", "fetch.files.header: true"]),
    "utf-16": (GOOD.encode("utf-16"), ["train.tsv:1", "fetch.files.encoding: utf-16"]),
    "gb18030": (GOOD.encode("gb18030"), ["train.tsv:1", "fetch.files.encoding: gb18030"]),
    "mostly dirt": ("x\n" * 9 + GOOD[:90], ["train.tsv:1", "1 column"]),
    "broken gzip": (gzip.compress(GOOD.encode())[:40], ["train.tsv", "gzip"]),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_files(edit: Edit, case: str) -> None:
    content, words = FILES[case]
    put("train.tsv", content)
    refused(DataError, *words)


PARAMETERS: dict[str, tuple[type[HanyiError], dict[str, Any], list[str]]] = {
    "missing": (DataError, {"train": "gone.tsv"}, ["data/inputs/gone.tsv", "no such file"]),
    "missing test": (DataError, {"test": "gone.tsv"}, ["data/inputs/gone.tsv", "no such file"]),
    "column": (DataError, {"src_column": 7}, ["train.tsv:1", "2 columns", "src_column, now 7"]),
    "delimiter": (DataError, {"delimiter": ","}, ["train.tsv:1", 'delimiter to "\\t"']),
    "outside": (DataError, {"train": "../train.tsv"}, ["fetch.files.train", "fetch.inputs"]),
    "the folder itself": (DataError, {"train": "."}, ["fetch.files.train", "fetch.inputs"]),
    "absolute": (DataError, {"train": "/etc/passwd"}, ["fetch.files.train", "fetch.inputs"]),
    "same columns": (ParamsError, {"src_column": 0}, ["fetch.files", "differ"]),
    "negative": (ParamsError, {"src_column": -1}, ["fetch.files", "-1"]),
    "long delimiter": (ParamsError, {"delimiter": "||"}, ["fetch.files", "||"]),
    "format": (ParamsError, {"format": "xlsx"}, ["fetch.files", "xlsx", "tsv", "csv"]),
    "encoding": (ParamsError, {"encoding": "utf8mb4"}, ["fetch.files", "utf8mb4", "gb18030"]),
    "name": (ParamsError, {"name": "my corpus/1"}, ["fetch.files", "my corpus/1"]),
    "same files": (ParamsError, {"test": "train.tsv"}, ["fetch.files", "different files"]),
    "misspelt": (ParamsError, {"haeder": True}, ["fetch.files.haeder"]),
    "wrong type": (ParamsError, {"header": "yes"}, ["fetch.files.header", "yes"]),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_bad_parameters(edit: Edit, case: str) -> None:
    kind, values, words = PARAMETERS[case]
    edit(**{f"fetch__files__{key}": value for key, value in values.items()})
    refused(kind, *words)


def test_missing_folder_and_unknown_corpus(edit: Edit) -> None:
    edit(fetch__inputs="nowhere")
    refused(DataError, "fetch.inputs", "nowhere")
    edit(fetch__corpus="moon")
    refused(ParamsError, "fetch", "moon", "starter", "files")
    edit(fetch__corpus="starter", fetch__starter__everyday__valid=0)
    refused(ParamsError, "fetch.starter", "valid", "0")


def test_full_disk(edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch.main(Tracker())
    before = leftovers()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("hanyi.corpus.sources.files.shutil.copyfile", full)
    with pytest.raises(ArtifactError, match=r"data/raw: No space left"):
        fetch.main(Tracker())
    assert leftovers() == before


def test_one_line_and_exit_code(edit: Edit, root: Path) -> None:
    edit(fetch__files__src_column=5)
    done = subprocess.run(
        [sys.executable, "-m", "stages.fetch"],
        env={**os.environ, "PYTHONPATH": str(root), "HANYI_TRACKING": "off"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    line = (
        'fetch: error: data/inputs/train.tsv:1: 2 columns between "\\t", expected at least 6; '
        "set fetch.files.src_column, now 5; columns count from 0"
    )
    assert [text for text in done.stderr.splitlines() if "error" in text] == [line]
    assert "Traceback" not in done.stderr
    assert leftovers() == []


PAIRS = [("我\t看见", "I  see", "train"), ("你好", "Hello", "valid"), ("再见", "Bye", "test")]
RECORDS = [
    {
        "chinese": "他来了。",
        "translation": {"en": "He is here."},
        "tokens": [{"word": "他", "gloss_en": "he"}, {"word": "了", "gloss_en": ""}],
    }
]


@pytest.fixture
def small_starter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for the grammar and the package, whose text is not ours to copy."""

    def generate(config: EverydayConfig) -> Iterator[EverydayPair]:
        assert config.sentences > 0
        for zh, en, split in PAIRS:
            yield EverydayPair(zh=zh, en=en, pattern="any", split=split)

    monkeypatch.setattr(starter, "generate", generate)
    monkeypatch.setattr(starter, "_load_hsk", lambda: RECORDS)


@pytest.mark.usefixtures("small_starter")
def test_starter(edit: Edit) -> None:
    edit(fetch__corpus="starter")
    assert fetch.main(Tracker()) == {
        "rows": 5,
        "corpora": {
            "everyday": {"train": 1, "valid": 1, "test": 1},
            "hsk": {"all": 1},
            "glosses": {"train": 1},
        },
        "glosses": {"kept": 1, "skipped": 1},
    }
    texts = {file.path: (RAW / file.path).read_text(encoding="utf-8") for file in read_list(RAW)}
    assert texts == {
        "everyday.train.tsv": "我 看见\tI see\n",
        "everyday.valid.tsv": "你好\tHello\n",
        "everyday.test.tsv": "再见\tBye\n",
        "hsk.all.tsv": "他来了。\tHe is here.\n",
        "glosses.train.tsv": "他\the\n",
    }
    header = json.loads((RAW / "corpora.json").read_text(encoding="utf-8"))
    assert (header["kind"], header["version"]) == ("hanyi.raw", 1)


@pytest.mark.usefixtures("small_starter")
def test_starter_without_glosses(edit: Edit) -> None:
    edit(fetch__corpus="starter", fetch__starter__glosses=False)
    assert set(fetch.main(Tracker())["corpora"]) == {"everyday", "hsk"}


def test_the_real_package_has_what_is_read_of_it() -> None:
    records = starter._load_hsk()
    assert len(records) == 4354
    assert all(record["chinese"] and record["translation"]["en"] for record in records)
    assert all("word" in token and "gloss_en" in token for token in records[0]["tokens"])
