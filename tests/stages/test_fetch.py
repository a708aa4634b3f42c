"""fetch: what it writes, what it refuses, and that a refusal leaves nothing behind."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from ruamel.yaml import YAML

from hanyi.artifacts import digest_file
from hanyi.corpus import tables
from hanyi.corpus.formats import REASONS
from hanyi.corpus.pairs import Part, read_list
from hanyi.corpus.sources import starter, writing
from hanyi.errors import ArtifactError, DataError, HanyiError, ParamsError
from hanyi.starter.everyday import EverydayConfig, EverydayPair
from hanyi.tracking import Tracker
from stages import fetch
from stages.paths import RAW
from tests.loopback import Page, serving

PAIRS = [(f"句子{number}在这里。", f"Sentence {number} is here.") for number in range(30)]
GOOD = "".join(f"{english}\t{chinese}\n" for chinese, english in PAIRS)
MINE = {"name": "mine", "source": "train.tsv"}

Edit = Callable[..., None]


@pytest.fixture
def edit(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edit:
    """Stand in a project with one good file; give the function that sets corpora and the rest."""
    yaml = YAML()
    params = yaml.load((root / "params.yaml").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    put("train.tsv", GOOD)

    def set_values(*corpora: dict[str, Any], **values: Any) -> None:
        if corpora:
            params["fetch"]["corpora"] = list(corpora)
        for name, value in values.items():
            section, *inner, key = name.split("__")
            place = params[section]
            for part in inner:
                place = place[part]
            place[key] = value
        with Path("params.yaml").open("w", encoding="utf-8") as file:
            yaml.dump(params, file)

    set_values(MINE)
    return set_values


def put(name: str, content: str | bytes) -> None:
    path = Path("data/inputs") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))


def leftovers() -> list[str]:
    return sorted(str(path) for path in Path("data").rglob("*") if "inputs" not in path.parts)


def refused(kind: type[HanyiError], *words: str) -> None:
    with pytest.raises(kind) as caught:
        fetch.main(Tracker())
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line, line
    assert leftovers() == []


def rows(part: Part) -> list[tuple[Any, ...]]:
    table = parquet.read_table(RAW / part.path)
    assert table.schema.equals(tables.RAW)
    assert table.num_rows == part.rows
    return [tuple(row.values()) for row in table.to_pylist()]


def expected(name: str, pairs: list[tuple[str, str]] = PAIRS) -> list[tuple[Any, ...]]:
    return [(name, line, src, tgt, None) for line, (src, tgt) in enumerate(pairs, start=1)]


def test_one_file_is_divided_later(edit: Edit) -> None:
    metrics = fetch.main(Tracker())
    assert metrics == {"rows": 30, "corpora": {"mine": {"all": 30}}, "unreadable": {}}
    [part] = read_list(RAW)
    assert part == Part(corpus="mine", role="all", path="mine.all.parquet", rows=30, weight=1.0)
    assert rows(part) == expected("train.tsv")


def test_roles_weights_and_faults(edit: Edit) -> None:
    put("test.tsv.gz", gzip.compress(GOOD.encode()))
    put("valid.tsv", GOOD + "\nalone\n")
    edit(
        {"name": "b", "source": "test.tsv.gz", "role": "test"},
        {**MINE, "role": "train", "weight": 2},
        {"name": "mine", "source": "valid.tsv", "role": "valid"},
    )
    assert fetch.main(Tracker()) == {
        "rows": 92,
        "corpora": {"b": {"test": 30}, "mine": {"train": 30, "valid": 32}},
        "unreadable": {"blank": 1, "columns": 1},
    }
    found = [(part.corpus, part.role, part.weight) for part in read_list(RAW)]
    assert found == [("b", "test", 1.0), ("mine", "train", 2.0), ("mine", "valid", 2.0)]
    assert rows(read_list(RAW)[2])[30:] == [
        ("valid.tsv", 31, "", "", "blank"),
        ("valid.tsv", 32, "alone", "", "columns"),
    ]


def test_several_files_become_one_table_in_order(edit: Edit) -> None:
    put("news/b.tsv", GOOD)
    put("news/a.csv", "".join(f'"{english}",{chinese}\r\n' for chinese, english in PAIRS))
    put("un.zh", "".join(f"{chinese}\n" for chinese, _ in PAIRS))
    put("un.en", "".join(f"{english}\n" for _, english in PAIRS))
    edit({"name": "mine", "source": "news/*"}, {"name": "mine", "source": ["un.zh", "un.en"]}, MINE)
    assert fetch.main(Tracker())["corpora"] == {"mine": {"all": 120}}
    [part] = read_list(RAW)
    names = ("news/a.csv", "news/b.tsv", "un.zh + un.en", "train.tsv")
    assert rows(part) == [row for name in names for row in expected(name)]


def test_a_folder_of_parquet_parts(edit: Edit) -> None:
    Path("data/inputs/parts").mkdir()
    for number in range(3):
        some = PAIRS[10 * number : 10 * number + 10]
        table = pa.table({"zh": [src for src, _ in some], "en": [tgt for _, tgt in some]})
        parquet.write_table(table, f"data/inputs/parts/part-{number}.parquet")
    put("parts/_SUCCESS", "")
    edit({"name": "spark", "source": "parts", "src_column": "zh", "tgt_column": "en"})
    fetch.main(Tracker())
    [part] = read_list(RAW)
    found = rows(part)
    assert [row[2:4] for row in found] == PAIRS
    assert [row[:2] for row in found[9:11]] == [
        ("parts/part-0.parquet", 10),
        ("parts/part-1.parquet", 1),
    ]


def test_what_an_entry_says_of_its_reading(edit: Edit) -> None:
    put("other.txt", "".join(f"{chinese}|{english}\n" for chinese, english in PAIRS).encode("gbk"))
    edit(
        MINE,
        {"name": "other", "source": "other.txt", "delimiter": "|", "src_column": 0,
         "tgt_column": 1, "encoding": "gb18030"},
    )  # fmt: skip
    fetch.main(Tracker())
    assert rows(read_list(RAW)[1]) == expected("other.txt")


def test_the_other_direction(edit: Edit) -> None:
    edit(languages__src="en", languages__tgt="zh", fetch__reading__src_column=0,
         fetch__reading__tgt_column=1)  # fmt: skip
    fetch.main(Tracker())
    assert rows(read_list(RAW)[0]) == expected("train.tsv", [(tgt, src) for src, tgt in PAIRS])


def test_absolute_folder_and_file(edit: Edit, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "deep").mkdir()
    (folder / "deep" / "mine.tsv").write_text(GOOD, encoding="utf-8")
    for name in ("deep/mine.tsv", str(folder / "deep/mine.tsv"), "deep/../deep/mine.tsv"):
        edit({**MINE, "source": name}, fetch__inputs=str(folder))
        assert fetch.main(Tracker())["rows"] == 30
        assert rows(read_list(RAW)[0]) == expected("deep/mine.tsv")


def test_the_new_corpus_takes_the_place_of_the_old(edit: Edit) -> None:
    RAW.mkdir(parents=True)
    (RAW / "old.tsv").touch()
    fetch.main(Tracker())
    assert sorted(path.name for path in RAW.iterdir()) == ["corpora.json", "mine.all.parquet"]


def test_a_url(edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as site:
        url = site.put("/web.tsv.gz", Page(gzip.compress(GOOD.encode())))
        edit({"name": "web", "source": f"{url}?token=secret"})
        fetch.main(Tracker())
        fetch.main(Tracker())
        assert len(site.asked) == 1
    assert rows(read_list(RAW)[0]) == expected(url)
    assert not any(b"secret" in path.read_bytes() for path in RAW.iterdir())


def test_bytes_do_not_depend_on_the_writer(edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROW_GROUP", 64)
    put("train.tsv", GOOD * 20)
    fetch.main(Tracker())
    before = {path.name: digest_file(path) for path in RAW.iterdir()}
    write = tables.TableWriter.write

    def slow(self: tables.TableWriter, block: pa.RecordBatch) -> None:
        time.sleep(0.002)
        write(self, block)

    monkeypatch.setattr(writing.TableWriter, "write", slow)
    monkeypatch.setattr(writing, "BLOCKS_AHEAD", 5)
    fetch.main(Tracker())
    assert {path.name: digest_file(path) for path in RAW.iterdir()} == before


FILES: dict[str, tuple[str | bytes, list[str]]] = {
    "empty": ("", ["train.tsv:1", "empty"]),
    "one column": ("alone\n" * 9, ["train.tsv:1", "1 column", "fetch.corpora.0.delimiter"]),
    "header": ("english\tchinese\n" + GOOD, ["train.tsv:1", "fetch.corpora.0.header: true"]),
    "mostly dirt": ("x\n" * 9 + GOOD[:90], ["train.tsv:1", "1 column"]),
    "broken gzip": (gzip.compress(GOOD.encode())[:40], ["train.tsv", "gzip"]),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_files(edit: Edit, case: str) -> None:
    content, words = FILES[case]
    put("train.tsv", content)
    refused(DataError, *words)


ENTRIES: dict[str, tuple[type[HanyiError], dict[str, Any], list[str]]] = {
    "missing": (DataError, {"source": "gone.tsv"}, ["gone.tsv", "no such file", "train.tsv"]),
    "no match": (DataError, {"source": "*.csv"}, ["fetch.corpora.0.source", "matches nothing"]),
    "column": (DataError, {"src_column": 7}, ["train.tsv:1", "2 columns", "src_column, now 7"]),
    "delimiter": (DataError, {"delimiter": ","}, ["train.tsv:1", 'delimiter to "\\t"']),
    "outside": (DataError, {"source": "../train.tsv"}, ["corpora.0.source", "fetch.inputs"]),
    "test set": (DataError, {"source": "sacrebleu:wmt71"}, ["corpora.0.source", "wmt71"]),
    "name": (ParamsError, {"name": "my corpus/1"}, ["fetch.corpora.0", "my corpus/1"]),
    "misspelt": (ParamsError, {"haeder": True}, ["fetch.corpora.0.haeder"]),
    "role": (ParamsError, {"role": "dev"}, ["fetch.corpora.0", "role", "dev"]),
}


@pytest.mark.parametrize("case", ENTRIES)
def test_bad_entries(edit: Edit, case: str) -> None:
    kind, values, words = ENTRIES[case]
    edit({**MINE, **values})
    refused(kind, *words)


def test_a_fault_in_the_last_entry_leaves_nothing(edit: Edit) -> None:
    put("last.tsv", "alone\n" * 9)
    edit(MINE, {"name": "last", "source": "last.tsv"})
    refused(DataError, "last.tsv:1", "fetch.corpora.1.delimiter")
    put("last.tsv.gz", gzip.compress(GOOD.encode() * 9999)[:-9])  # broken at its end
    edit(MINE, {"name": "last", "source": "last.tsv.gz"})
    refused(DataError, "last.tsv.gz", "gzip")


def test_a_file_of_two_entries(edit: Edit) -> None:
    edit({"name": "a", "source": "*.tsv"}, MINE)
    refused(DataError, "fetch.corpora.1.source", "train.tsv", "fetch.corpora.0.source")


def test_missing_folder_and_bad_languages(edit: Edit) -> None:
    edit(fetch__inputs="nowhere")
    refused(DataError, "fetch.inputs", "nowhere")
    edit(languages__src="chinese language")
    refused(ParamsError, "languages", "chinese language")
    edit(languages__src="zh", fetch__everyday__valid=0)
    refused(ParamsError, "fetch", "everyday.valid", "0")


def test_full_disk(edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch.main(Tracker())
    before = leftovers()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing.TableWriter, "write", full)
    with pytest.raises(ArtifactError, match=r"data/raw: No space left"):
        fetch.main(Tracker())
    assert leftovers() == before


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stages.fetch", *arguments],
        env={**os.environ, "PYTHONPATH": str(root), "HANYI_TRACKING": "off"},
        check=False,
        capture_output=True,
        text=True,
    )


def test_one_line_and_exit_code(edit: Edit, root: Path) -> None:
    edit({**MINE, "src_column": 5})
    done = run(root)
    assert done.returncode == 2
    line = (
        'fetch: error: train.tsv:1: 2 columns between "\\t", expected at least 6; '
        "set fetch.corpora.0.src_column, now 5; columns count from 0"
    )
    assert [text for text in done.stderr.splitlines() if "error" in text] == [line]
    assert "Traceback" not in done.stderr
    assert leftovers() == []


def test_peek_shows_what_is_understood_and_writes_nothing(edit: Edit, root: Path) -> None:
    put("dirt.tsv", GOOD + "alone\x1b[2J\u200b\n")
    put("more.tsv", GOOD)
    put("three.txt", GOOD.replace("\t", "|7|"))
    edit(
        {"name": "mine", "source": "dirt.tsv"},
        {"name": "gone", "source": "gone.tsv"},
        {"name": "three", "source": "three.txt", "delimiter": "|"},
        {"name": "pair", "source": ["train.tsv", "more.tsv"], "format": "tmx"},
    )
    done = run(root, "--peek", "31")
    assert done.returncode == 2
    assert (
        "mine.all: dirt.tsv\ntsv, utf-8, delimiter '\\t', no header, source 1, target 0\n"
        in done.stdout
    )
    assert "句子29在这里。" in done.stdout
    assert r"alone\x1b[2J\u200b" in done.stdout  # nothing of a file moves the cursor
    assert "[no pair: columns]" in done.stdout
    assert "error: data/inputs/gone.tsv: no such file" in done.stdout
    assert "as it stands, parted at '|'" in done.stdout
    assert "column 2" in done.stdout
    assert "fetch.corpora.3.format" in done.stdout
    assert "Traceback" not in done.stderr
    assert leftovers() == []
    edit(MINE)
    done = run(root, "--peek", "2")
    assert (done.returncode, "句子1" in done.stdout, "句子2" in done.stdout) == (0, True, False)
    assert not Path("mlflow.db").exists()


STARTER = [("我\t看见", "I  see", "train"), ("你好", "Hello", "valid"), ("再见", "Bye", "test")]
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
        for zh, en, split in STARTER:
            yield EverydayPair(zh=zh, en=en, pattern="any", split=split)

    monkeypatch.setattr(starter, "generate", generate)
    monkeypatch.setattr(starter, "load_package", lambda: RECORDS)


@pytest.mark.usefixtures("small_starter")
def test_starter(edit: Edit) -> None:
    edit(
        {"name": "everyday", "source": "starter:everyday"},
        {"name": "hsk", "source": "starter:hsk", "weight": 4},
        {"name": "glosses", "source": "starter:glosses"},
    )
    assert fetch.main(Tracker()) == {
        "rows": 5,
        "corpora": {
            "everyday": {"train": 1, "valid": 1, "test": 1},
            "hsk": {"all": 1},
            "glosses": {"train": 1},
        },
        "unreadable": {},
        "glosses": {"kept": 1, "skipped": 1},
    }
    assert [row for part in read_list(RAW) for row in rows(part)] == [
        ("everyday.train.tsv", 1, "我 看见", "I see", None),
        ("everyday.valid.tsv", 1, "你好", "Hello", None),
        ("everyday.test.tsv", 1, "再见", "Bye", None),
        ("hsk.all.tsv", 1, "他来了。", "He is here.", None),
        ("glosses.train.tsv", 1, "他", "he", None),
    ]
    assert [part.weight for part in read_list(RAW)] == [1, 1, 1, 4, 1]
    header = json.loads((RAW / "corpora.json").read_text(encoding="utf-8"))
    assert (header["kind"], header["version"]) == ("hanyi.raw", 2)


@pytest.mark.usefixtures("small_starter")
def test_a_part_of_the_starter_in_another_role(edit: Edit) -> None:
    edit({"name": "graded", "source": "starter:hsk", "role": "test"}, MINE)
    assert fetch.main(Tracker())["corpora"] == {"graded": {"test": 1}, "mine": {"all": 30}}


def test_sentences_that_wait_for_their_translation_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting = {**RECORDS[0], "translation": {"en": "placeholder-p7"}}
    monkeypatch.setattr(starter, "load_package", lambda: [*RECORDS, waiting])
    assert [row.fault for row in starter.load_hsk()] == [None] * len(RECORDS) + ["untranslated"]
    assert starter.UNTRANSLATED in REASONS  # which the funnel knows


def test_the_real_package_has_what_is_read_of_it() -> None:
    records = starter.load_package()
    assert sum(row.fault is None for row in starter.load_hsk()) == 4274
    assert len(records) == 4354
    assert all(record["chinese"] and record["translation"]["en"] for record in records)
    assert all("word" in token and "gloss_en" in token for token in records[0]["tokens"])
