"""Public corpora by name: what mtdata's index says, members of archives, sacrebleu's test sets."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from mtdata.entry import Entry

from hanyi.corpus.sources.archives import unpack_member
from hanyi.corpus.sources.public import Public, fetch_public
from hanyi.corpus.sources.testsets import fetch_test_set
from hanyi.errors import DataError
from hanyi.languages import Languages
from tests.loopback import Page, Site

WHERE = "fetch.corpora.0"
ZH_EN = Languages(src="zh", tgt="en")
EN_ZH = Languages(src="en", tgt="zh")
ROWS = "Hello.\t你好。\nBye.\t再见。\n".encode()


def zipped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, body in members.items():
            file.writestr(name, body)
    return packed.getvalue()


def taped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as file:
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            file.addfile(info, io.BytesIO(body))
    return packed.getvalue()


def entry(name: str, url: Any, ext: str, **more: Any) -> Entry:
    return Entry(name, url=url, ext=ext, **more)


@pytest.fixture
def index(site: Site, monkeypatch: pytest.MonkeyPatch) -> list[Entry]:
    """Stand in for mtdata's index, whose building takes half a minute."""
    entries: list[Entry] = []
    module = ModuleType("mtdata.index")
    module.INDEX = SimpleNamespace(get_entries=lambda: entries)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mtdata.index", module)
    return entries


Fetch = Callable[..., Public]


def fetch(name: str, languages: Languages = ZH_EN, sha256: str | None = None) -> Public:
    return fetch_public(name, languages, WHERE, sha256)


def refused(call: Callable[[], object], *words: str) -> None:
    with pytest.raises(DataError) as caught:
        call()
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line, line


def test_a_table(site: Site, index: list[Entry]) -> None:
    url = site.put("/nc/news.en-zh.tsv.gz", Page(gzip.compress(ROWS)))
    index.append(entry("Statmt-news-18.1-eng-zho", url, "tsv.gz"))
    found = fetch("Statmt-news-18.1-eng-zho")
    [[path]] = found.files
    assert gzip.decompress(path.read_bytes()) == ROWS
    expected = {"format": "tsv", "delimiter": "auto", "header": False}
    assert found.reading == {**expected, "src_column": 1, "tgt_column": 0}
    other = fetch("Statmt-news-18.1-eng-zho", EN_ZH)
    assert (other.reading["src_column"], other.reading["tgt_column"]) == (0, 1)
    assert fetch("Statmt-news-18.1-zho-eng").files == found.files  # either order is its name
    assert len(site.asked) == 1


def test_columns_of_the_index(site: Site, index: list[Entry]) -> None:
    url = site.put("/w.tsv.gz", Page(gzip.compress(ROWS)))
    index.append(entry("Facebook-wiki-1-eng-zho_TW", url, "tsv.gz", cols=(1, 2)))
    found = fetch("Facebook-wiki-1-eng-zho_TW")
    assert (found.reading["src_column"], found.reading["tgt_column"]) == (2, 1)


@pytest.mark.parametrize("pack", [zipped, taped])
def test_two_members_of_an_archive(
    site: Site, index: list[Entry], pack: Callable[[dict[str, bytes]], bytes]
) -> None:
    members = {"v1/x.en": b"Hello.\n", "v1/x.zh": "你好。\n".encode(), "v1/README": b"."}
    url = site.put("/download/123/", Page(pack(members)))
    index.append(
        entry("OPUS-x-1-eng-zho", url, "zip", in_ext="txt", in_paths=["*/x.en", "*/x.zh"])
    )  # fmt: skip
    found = fetch("OPUS-x-1-eng-zho")
    [[src, tgt]] = found.files
    assert (src.name, src.read_bytes()) == ("x.zh", members["v1/x.zh"])
    assert (tgt.name, tgt.read_bytes()) == ("x.en", members["v1/x.en"])
    assert found.reading["format"] == "moses"
    before = src.stat().st_mtime_ns
    assert fetch("OPUS-x-1-eng-zho").files == found.files
    assert src.stat().st_mtime_ns == before
    assert len(site.asked) == 1


def test_two_addresses(site: Site, index: list[Entry]) -> None:
    urls = (site.put("/n.en.gz", Page(b"e")), site.put("/n.zh.gz", Page(b"z")))
    index.append(entry("Statmt-back-20-eng-zho", urls, "txt.gz"))
    [[src, tgt]] = fetch("Statmt-back-20-eng-zho").files
    assert (src.read_bytes(), tgt.read_bytes()) == (b"z", b"e")
    refused(lambda: fetch("Statmt-back-20-eng-zho", sha256="0" * 64), "sha256", "2 files")


@pytest.mark.parametrize(
    ("ext", "more", "format_", "files"),
    [
        ("zip", {"in_ext": "tmx", "in_paths": ["a.tmx", "b.tmx"]}, "tmx", 2),
        ("zip", {"in_ext": "sgm", "in_paths": ["a.tmx", "b.tmx"]}, "sgm", 1),
        ("zip", {"in_ext": "tsv", "in_paths": ["a.tmx", "b.tmx"]}, "tsv", 2),
        ("zip", {"in_ext": "csvwithheader", "in_paths": ["b.tmx"]}, "csv", 1),
        ("tmx.gz", {}, "tmx", 1),
    ],
)
def test_layouts(
    site: Site, index: list[Entry], ext: str, more: dict[str, Any], format_: str,
    files: int,
) -> None:  # fmt: skip
    url = site.put("/a", Page(zipped({"a.tmx": b"a", "b.tmx": b"b"})))
    index.append(entry("ELRC-x-1-eng-zho", url, ext, **more))
    found = fetch("ELRC-x-1-eng-zho")
    assert (found.reading["format"], len(found.files)) == (format_, files)
    assert found.reading["header"] == (format_ == "csv")


def test_names_that_are_not_there(index: list[Entry]) -> None:
    index.append(entry("Statmt-news_commentary-18.1-eng-zho", "http://x.org/a.tsv", "tsv"))
    index.append(entry("Statmt-news_commentary-18.1-deu-zho", "http://x.org/a.tsv", "tsv"))
    wrong = "Statmt-newscommentary-18-eng-zho"
    refused(lambda: fetch(wrong), wrong, "perhaps Statmt-news_commentary-18.1-eng-zho)", "mtdata")
    refused(lambda: fetch("x"), "none is like it")
    name = "Statmt-news_commentary-18.1-deu-zho"
    refused(lambda: fetch(name), "deu-zho", "a corpus of zh and en")


def test_forms_that_are_not_read(index: list[Entry]) -> None:
    hub = {"in_ext": "hfds", "in_paths": ["x"]}
    index.append(entry("A-b-1-eng-zho", "https://huggingface.co/datasets/a/b", "hfds", **hub))
    index.append(entry("A-c-1-eng-zho", "https://x.org/c.xlsx", "xlsx"))
    refused(lambda: fetch("A-b-1-eng-zho"), "published as hfds")
    refused(lambda: fetch("A-c-1-eng-zho"), "published as xlsx", "by hand")


def test_without_mtdata(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mtdata.index", None)
    refused(lambda: fetch("A-b-1-eng-zho"), "no package mtdata", "pip install mtdata")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"no archive at all", ["a broken archive", "run again"]),
        (zipped({"a.txt": b"abc" * 99})[:-60], ["a broken archive"]),
        (taped({"a.txt": os.urandom(9999)})[:5000], ["a broken archive"]),
        (zipped({"b.txt": b""}), ["0 members that fit a*"]),
        (zipped({"a1": b"", "a2": b""}), ["2 members that fit a*"]),
    ],
)
def test_broken_archives(tmp_path: Path, body: bytes, words: list[str]) -> None:
    archive = tmp_path / "x.zip"
    archive.write_bytes(body)
    refused(lambda: unpack_member(archive, "a*"), *words)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["x.zip"]


def test_members_of_a_newer_archive(tmp_path: Path) -> None:
    archive = tmp_path / "x.zip"
    archive.write_bytes(zipped({"a.txt": b"one"}))
    member = unpack_member(archive, "a*")
    assert member.read_bytes() == b"one"
    archive.write_bytes(zipped({"a.txt": b"two"}))
    later = member.parent.stat().st_mtime_ns + 10**9
    os.utime(archive, ns=(later, later))
    assert unpack_member(archive, "a*").read_bytes() == b"two"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Site) -> Path:
    """Give sacrebleu an empty cache and data sets on loopback."""
    from sacrebleu.dataset import DATASETS

    folder = tmp_path / "sacrebleu"
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(folder))
    for name, path in (("wmt17", "/test.tgz"), ("wmt20/tworefs", "/two.tgz")):
        monkeypatch.setattr(DATASETS[name], "data", [site.address + path])
        monkeypatch.setattr(DATASETS[name], "md5", None)
        monkeypatch.setattr(DATASETS[name], "_outdir", str(folder / name))
        monkeypatch.setattr(DATASETS[name], "_rawdir", str(folder / name / "raw"))
    return folder


def sgm(*lines: str) -> bytes:
    return "\n".join(f'<seg id="1">{line}</seg>' for line in lines).encode()


def test_a_test_set(site: Site, cache: Path) -> None:
    members = {
        "test/newstest2017-zhen-src.zh.sgm": sgm("你好。", "再见。"),
        "test/newstest2017-zhen-ref.en.sgm": sgm("Hello.", "Bye."),
    }
    site.put("/test.tgz", Page(taped(members)))
    src, tgt = fetch_test_set("wmt17", ZH_EN, WHERE)
    assert src.read_text(encoding="utf-8") == "你好。\n再见。\n"
    assert tgt.read_text(encoding="utf-8") == "Hello.\nBye.\n"
    assert fetch_test_set("wmt17", ZH_EN, WHERE) == (src, tgt)
    assert len(site.asked) == 1


def test_the_first_of_several_references(site: Site, cache: Path) -> None:
    members = {
        "sgm/newstest2020-zhen-src.zh.sgm": sgm("你好。"),
        "sgm/newstest2020-zhen-ref.en.sgm": sgm("Hello."),
        "sgm/newstestB2020-zhen-ref.en.sgm": sgm("Hi."),
    }
    site.put("/two.tgz", Page(taped(members)))
    _, tgt = fetch_test_set("wmt20/tworefs", ZH_EN, WHERE)
    assert tgt.read_text(encoding="utf-8") == "Hello.\n"


def test_test_sets_that_cannot_be_had(
    site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sacrebleu.dataset import DATASETS

    refused(lambda: fetch_test_set("wmt17", ZH_EN, WHERE), "not in", "404", "network")
    refused(lambda: fetch_test_set("wmt71", ZH_EN, WHERE), "wmt71", "wmt17", "zh-en")
    welsh = Languages(src="zh", tgt="cy")
    refused(lambda: fetch_test_set("wmt17", welsh, WHERE), "wmt17 without zh-cy", "cs-en", "zh-en")
    site.put("/test.tgz", Page(b"something else"))
    monkeypatch.setattr(DATASETS["wmt17"], "md5", ["0" * 32])
    refused(lambda: fetch_test_set("wmt17", ZH_EN, WHERE), "checksum", "was removed")
    monkeypatch.setattr(DATASETS["wmt17"], "md5", None)
    site.put("/test.tgz", Page(taped({"x": os.urandom(9999)})[:5000]))
    refused(lambda: fetch_test_set("wmt17", ZH_EN, WHERE), "broken", "was removed")
    assert not (cache / "wmt17/raw").exists()
