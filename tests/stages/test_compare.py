from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dvc.repo import Repo

from hanyi.artifacts import DECODED as KIND
from hanyi.artifacts import digest_path, write_header
from hanyi.errors import HanyiError
from hanyi.scoring import significance
from hanyi.scoring.baselines import read_baseline
from hanyi.scoring.pairing import read_pairs
from stages.compare import HEADS, compare, main

ROWS = 30
REFERENCES = [f"The {n} red houses stand by the river, and {n + 3} people sing." for n in range(30)]
NOW = [text.replace("people", "persons") if n % 3 else text for n, text in enumerate(REFERENCES)]
BEFORE = [text.replace("red houses", "cats") for text in NOW]
PREPARED, DECODED = Path("data/prepared/test.parquet"), Path("data/decoded/test.jsonl")


def prepare(references: list[str], source: str = "源") -> None:
    columns = {
        "id": range(ROWS),
        "corpus": ["hsk" if n % 2 else "news" for n in range(ROWS)],
        "src": [source] * ROWS,
        "tgt": references,
    }
    PREPARED.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({key: list(values) for key, values in columns.items()}), PREPARED)


def decode(texts: list[str], path: Path = DECODED) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts)]
    path.write_text("".join(reversed(lines)), encoding="utf-8")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(significance, "TRIALS", 1000)
    params = {
        "languages": {"src": "zh", "tgt": "en"},
        "score": {"tokenize": "auto", "comet": None, "tokenized_references": False},
    }
    Path("params.yaml").write_text(json.dumps(params), encoding="utf-8")
    prepare(REFERENCES)
    decode(NOW)
    return tmp_path


@pytest.mark.parametrize("name", ["before.jsonl", "before.txt"])
@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_a_decoded_file_is_a_baseline(name: str, test: str) -> None:
    if name.endswith(".jsonl"):
        decode(BEFORE, Path(name))
    else:
        Path(name).write_text("".join(text + "\r\n" for text in BEFORE), encoding="utf-8")
    lines = compare(name, test)
    assert [(line.corpus, line.rows) for line in lines[::4]] == [
        ("all", 30),
        ("hsk", 15),
        ("news", 15),
    ]
    assert [line.metric for line in lines[:4]] == ["bleu", "chrf", "chrf_pp", "ter"]
    for line in lines:
        assert (line.found.difference > 0) == (line.metric != "ter")
        assert line.found.p_value < 0.01


def test_the_same_translations_do_not_differ(capsys: pytest.CaptureFixture[str]) -> None:
    main([str(DECODED), "--markdown"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| corpus | rows | metric | baseline | now | difference | p |"
    assert len(lines) == 2 + 3 * 4
    assert all(line.endswith("| +0.00 | 1.0000 |") for line in lines[2:])
    main([str(DECODED)])
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == list(HEADS)
    assert max(map(len, table)) <= 80


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("few.txt", "one\ntwo\n", "few.txt: 2 lines, expected 30"),
        ("few.jsonl", '{"id": 0, "text": ""}\n', "few.jsonl: 29 rows missing"),
        ("odd.jsonl", "{}\n", "odd.jsonl:1: no id or no text"),
    ],
)
def test_a_file_of_other_rows_is_one_line(name: str, text: str, part: str) -> None:
    Path(name).write_text(text, encoding="utf-8")
    with pytest.raises(HanyiError) as caught:
        compare(name, "bootstrap")
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_line_feeds_alone_end_a_line() -> None:
    texts = [f"{text}\r\u2028{text}" for text in BEFORE]
    Path("before.txt").write_bytes("".join(text + "\r\n" for text in texts).encode("utf-8-sig"))
    decode(texts, Path("before.jsonl"))
    rows = Path("before.jsonl").read_bytes().replace(b"\n", b"\r\n")
    Path("before.jsonl").write_bytes(rows + b"\r\n")
    pairs = read_pairs(DECODED, PREPARED)
    for name in ("before.txt", "before.jsonl"):
        assert read_baseline(name, pairs, DECODED, PREPARED) == texts


def test_a_decoded_file_of_another_split_is_refused() -> None:
    decode(BEFORE, Path("other/test.jsonl"))
    write_header(Path("other/index.json"), *KIND, {"test": "another"})
    with pytest.raises(HanyiError, match="translations of a test split another"):
        compare("other/test.jsonl", "bootstrap")
    write_header(Path("other/index.json"), *KIND, {"test": digest_path(PREPARED)})
    assert compare("other/test.jsonl", "bootstrap")


def git(*arguments: str) -> None:
    names = {
        f"GIT_{who}_{what}": "a@b.c"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    subprocess.run(
        ["git", *arguments], check=True, capture_output=True, env={**os.environ, **names}
    )


def keep(tag: str) -> None:
    """Commit the outputs as they lie there, with DVC, and tag them."""
    with Repo() as repo:
        repo.add(["data/prepared", "data/decoded"])
    git("add", ".")
    git("commit", "-qm", tag)
    git("tag", tag)


def test_a_revision_is_read_from_the_cache(project: Path) -> None:
    git("init", "-q", "-b", "main")
    Repo.init().close()
    git("add", "params.yaml", ".dvc")
    git("commit", "-qm", "nothing")
    git("tag", "nothing")
    prepare(REFERENCES, source="another source")
    decode(BEFORE)
    keep("before")
    prepare(["Another reference.", *REFERENCES[1:]])
    keep("elsewhere")
    prepare(REFERENCES)
    decode(NOW)
    found = compare("before", "bootstrap")
    decode(BEFORE, Path("before.jsonl"))
    assert found == compare("before.jsonl", "bootstrap")
    for revision, part in {
        "nowhere": "no file, revision or experiment nowhere",
        "nothing": "nothing:data/decoded/test.jsonl: neither in git nor in DVC's cache",
        "elsewhere": "30 rows, another reference or none for 1 of the 30 here",
    }.items():
        with pytest.raises(HanyiError) as caught:
            compare(revision, "bootstrap")
        assert part in str(caught.value)
        assert "\n" not in str(caught.value)
    (project / ".dvc" / "cache").rename(project / "gone")
    with pytest.raises(
        HanyiError, match=r"before:data/decoded/test\.jsonl: neither in git nor in DVC"
    ):
        compare("before", "bootstrap")
