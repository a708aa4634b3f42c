"""Downloads: whole or not there, resumed where they broke, never made twice."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import random
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hanyi.corpus.sources import transfer
from hanyi.corpus.sources.download import cache_root, download, file_name
from hanyi.corpus.sources.transfer import plain
from hanyi.errors import ArtifactError, DataError
from tests.loopback import Page, Site

BODY = random.Random(1).randbytes(300_000)
OTHER = random.Random(2).randbytes(300_000)
SUM = hashlib.sha256(BODY).hexdigest()
WHERE = "fetch.corpora.0"


def refused(url: str, *words: str, sha256: str | None = None) -> None:
    with pytest.raises(DataError) as caught:
        download(url, WHERE, sha256)
    line = str(caught.value)
    assert "\n" not in line
    assert "0x" not in line
    for word in words:
        assert word in line, line
    assert not whole(url)


def whole(url: str) -> list[Path]:
    return [path for path in cache_root().rglob(file_name(url)) if path.is_file()]


def test_a_file_is_downloaded_once(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hanyi.corpus")
    url = site.put("/nc/a%20b.tsv.gz", Page(BODY))
    path = download(url, WHERE)
    assert path.name == "a b.tsv.gz"
    assert path.read_bytes() == BODY
    assert f"set fetch.corpora.0.sha256: {SUM}" in caplog.text
    assert download(url, WHERE, SUM) == path
    assert len(site.asked) == 1
    assert sorted(file.name for file in path.parent.iterdir()) == ["a b.tsv.gz", "download.json"]


def test_the_cache_lies_in_the_main_workspace(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / "main"))
    path = download(site.put("/x", Page(BODY)), WHERE)
    assert (tmp_path / "main/.hanyi/downloads") in path.parents


@pytest.mark.parametrize(
    "validator", [{"etag": '"one"'}, {"modified": "Mon, 01 Jan 2024 00:00:00 GMT"}]
)
def test_a_broken_download_goes_on_where_it_broke(site: Site, validator: dict[str, str]) -> None:
    url = site.put("/x.gz", Page(BODY, cuts=[100_000, 50_000], **validator))
    assert download(url, WHERE, SUM).read_bytes() == BODY
    assert site.ranges == [None, "bytes=100000-", "bytes=150000-"]
    assert site.asked[1][1]["if-range"] == next(iter(validator.values()))


def test_another_run_goes_on_too(site: Site) -> None:
    page = Page(BODY, etag='"one"', cuts=[100_000, 0, 0, 0, 0])
    url = site.put("/x.gz", page)
    refused(url, "100,000 bytes are kept", "expected an answer with the whole file", WHERE)
    page.cuts.clear()
    site.asked.clear()
    assert download(url, WHERE).read_bytes() == BODY
    assert site.ranges == ["bytes=100000-"]


def test_attempts_are_counted_anew_after_each_gain(site: Site) -> None:
    url = site.put("/x.gz", Page(BODY, etag='"one"', cuts=[40_000] * 7))
    assert download(url, WHERE).read_bytes() == BODY
    assert len(site.asked) == 8


def test_a_server_without_ranges_or_without_a_validator_starts_anew(site: Site) -> None:
    url = site.put("/x.gz", Page(BODY, etag='"one"', ranges=False, cuts=[100_000]))
    assert download(url, WHERE, SUM).read_bytes() == BODY
    assert site.ranges == [None, "bytes=100000-"]
    site.asked.clear()
    url = site.put("/y.gz", Page(BODY, etag='W/"weak"', cuts=[100_000]))
    assert download(url, WHERE, SUM).read_bytes() == BODY
    assert site.ranges == [None, None]


def test_a_file_that_changed_in_between_is_never_mixed(site: Site) -> None:
    page = Page(BODY, etag='"one"', cuts=[100_000, 0, 0, 0, 0])
    url = site.put("/x.gz", page)
    refused(url, "100,000")
    site.put("/x.gz", Page(OTHER, etag='"two"'))
    assert download(url, WHERE).read_bytes() == OTHER


def test_a_part_longer_than_the_file_starts_anew(site: Site) -> None:
    url = site.put("/x.gz", Page(BODY, etag='"one"', cuts=[100_000, 0, 0, 0, 0]))
    refused(url, "100,000")
    site.put("/x.gz", Page(BODY[:50_000], etag='"one"'))
    assert download(url, WHERE).read_bytes() == BODY[:50_000]


def test_a_wrong_checksum_removes_the_file_and_names_both(site: Site) -> None:
    url = site.put("/x.gz", Page(OTHER))
    found = hashlib.sha256(OTHER).hexdigest()
    refused(url, found, f"expected {SUM}", "fetch.corpora.0.sha256", sha256=SUM)
    left = {path.suffix for path in cache_root().rglob("*") if path.is_file()}
    assert left == {".json", ".lock"}
    site.put("/x.gz", Page(BODY))
    assert download(url, WHERE, SUM).read_bytes() == BODY


def test_another_sum_downloads_again(site: Site) -> None:
    url = site.put("/x.gz", Page(OTHER))
    download(url, WHERE)
    site.put("/x.gz", Page(BODY))
    assert download(url, WHERE, SUM).read_bytes() == BODY
    assert len(site.asked) == 2


def test_redirects_are_followed(site: Site) -> None:
    target = site.put("/deep/x.gz", Page(BODY, etag='"one"', cuts=[1000]))
    url = site.put("/get", Page(status=302, location=target))
    path = download(url, WHERE, SUM)
    assert (path.name, path.read_bytes()) == ("get", BODY)
    assert [path for path, _ in site.asked] == ["/get", "/deep/x.gz"] * 2
    loop = site.put("/loop", Page(status=302, location="/loop"))
    refused(loop, "redirects")


def test_refusals_are_final_and_failures_are_not(site: Site) -> None:
    refused(f"{site.address}/none?token=secret", "HTTP 404", f"{WHERE}.source", "/none:")
    assert len(site.asked) == 1
    url = site.put("/busy", Page(BODY, failures=2))
    assert download(url, WHERE).read_bytes() == BODY
    refused(site.put("/down", Page(BODY, failures=9)), "HTTP 503")


def test_a_short_body_is_no_file(site: Site) -> None:
    refused(site.put("/x", Page(BODY, cuts=[1000] * 9)), "1000 bytes read", "expected")


def test_a_body_without_a_length(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hanyi.corpus")
    assert download(site.put("/x", Page(BODY, length=False)), WHERE).read_bytes() == BODY
    assert "told no length" in caplog.text


def test_an_empty_file(site: Site) -> None:
    assert download(site.put("/x", Page(b"", etag='"e"')), WHERE).read_bytes() == b""


def test_no_server_and_no_url(site: Site) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    refused(f"http://127.0.0.1:{port}/x.gz", "refused", "look at the network")
    refused("http://no-such-host.invalid/x.gz", "look at the network")
    refused("http:///x.gz", f"{WHERE}.source")


def test_a_server_that_says_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "TIMEOUTS", (0.2, 0.2))
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen(8)
        refused(f"http://127.0.0.1:{mute.getsockname()[1]}/x.gz", "no answer in time")


def test_full_disk(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(transfer.os, "fsync", full)
    with pytest.raises(ArtifactError, match=r"No space left.*free space"):
        download(site.put("/x", Page(BODY)), WHERE)


def test_two_processes_download_once(site: Site, root: Path) -> None:
    url = site.put("/x.gz", Page(BODY * 20))
    script = f"from hanyi.corpus.sources.download import download\nprint(download({url!r}, 'x'))"
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    command = [sys.executable, "-c", script]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    paths = {process.communicate()[0] for process in started}
    assert [process.returncode for process in started] == [0, 0, 0]
    assert len(paths) == 1
    assert Path(paths.pop().strip()).read_bytes() == BODY * 20
    assert len(site.asked) == 1


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://x.org/a/b.tsv.gz?download=1#top", "b.tsv.gz"),
        ("http://x.org/a/", "a"),
        ("http://x.org", "download"),
        ("http://x.org/.part", "download"),
        ("http://x.org/..", "download"),
        ("http://x.org/%2e%2e%2fx", "x"),
        ("http://x.org/" + "n" * 300 + ".csv", "n" * 56 + ".csv"),
    ],
)
def test_names(url: str, name: str) -> None:
    assert file_name(url) == name


def test_secrets_stay_out_of_messages_and_tables() -> None:
    assert plain("https://me:pass@x.org:8/a.tsv?token=1#x") == "https://x.org:8/a.tsv"
