"""Packings and encodings: told by the bytes, broken ones refused."""

from __future__ import annotations

import bz2
import gzip
import io
import logging
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hanyi.corpus.formats import decide, peek
from hanyi.corpus.formats.encodings import guess_encoding
from hanyi.corpus.formats.packing import open_bytes
from hanyi.corpus.formats.text import MARK, known_encoding, lines
from hanyi.errors import DataError
from tests.structured import make_input

SIMPLIFIED = (
    "I will come.\t我会来的。\nShe likes tea.\t她喜欢喝茶。\nIt is late.\t已经很晚了。\n"
    "Where are you?\t你在哪里？\nWe live here.\t我们住在这里。\n"
)
TRADITIONAL = (
    "I will come.\t我會來的。\nShe likes tea.\t她喜歡喝茶。\nIt is late.\t已經很晚了。\n"
    "Where are you?\t你在哪裡？\nWe live here.\t我們住在這裡。\n"
)


def zstd(content: bytes) -> bytes:
    packed: bytes = pa.compress(content, "zstd", asbytes=True)
    return packed


PACKERS = [gzip.compress, lzma.compress, bz2.compress, zstd]
Packer = Callable[[bytes], bytes]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine.tsv"


def detected(path: Path, content: bytes, **languages: str) -> str:
    path.write_bytes(content)
    return decide(make_input(path, **languages)).reading.encoding


@pytest.mark.parametrize("pack", PACKERS)
def test_packed_files_are_told_by_their_bytes(path: Path, pack: Packer) -> None:
    half, rest = SIMPLIFIED[:40].encode(), SIMPLIFIED[40:].encode()
    path.write_bytes(pack(half) + pack(b"") + pack(rest))
    assert [row.tgt for row in peek(decide(make_input(path)), 9)] == [
        line.split("\t")[0] for line in SIMPLIFIED.splitlines()
    ]


@pytest.mark.parametrize("lost", [1, 9, 1000])
@pytest.mark.parametrize("pack", PACKERS)
def test_cut_files_are_refused(path: Path, pack: Packer, lost: int) -> None:
    noise = "".join(f"{n * n * n}\t{n * 7919}\n" for n in range(20_000))  # hardly shrinks
    path.write_bytes(pack(noise.encode())[:-lost])
    with pytest.raises(DataError, match=r"broken \w+ data .* copy or download it again"):
        list(lines(path, "utf-8"))


@pytest.mark.parametrize("pack", PACKERS)
def test_the_head_of_a_packed_file_is_refused(path: Path, pack: Packer) -> None:
    path.write_bytes(pack(SIMPLIFIED.encode())[:12])
    with pytest.raises(DataError, match=r"mine.tsv: broken"):
        decide(make_input(path))


def test_archives_are_refused(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(DataError, match="zip archive"):
        decide(make_input(path))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("x"))
    path.write_bytes(packed.getvalue())
    with pytest.raises(DataError, match="tar archive"):
        decide(make_input(path))


def test_text_that_begins_like_a_packed_file(path: Path) -> None:
    path.write_text("BZh! said he.\t他说。\n", encoding="utf-8")
    assert len(peek(decide(make_input(path)), 9)) == 1


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(lines(tmp_path / "gone", "utf-8"))
    with pytest.raises(DataError, match="mine: a folder"), open_bytes(tmp_path, "mine"):
        pass


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (SIMPLIFIED.encode(), "utf-8"),
        (b"\xef\xbb\xbf" + SIMPLIFIED.encode(), "utf-8"),
        (SIMPLIFIED.encode("utf-16"), "utf-16-le"),
        (b"\xfe\xff" + SIMPLIFIED.encode("utf-16-be"), "utf-16-be"),
        (SIMPLIFIED.encode("utf-16-le"), "utf-16-le"),
        (SIMPLIFIED.encode("utf-16-be"), "utf-16-be"),
        (SIMPLIFIED.encode("gb18030"), "gb18030"),
        (TRADITIONAL.encode("big5"), "big5"),
        (TRADITIONAL.replace("\n", "裏\n").encode("cp950"), "cp950"),
        (SIMPLIFIED.splitlines(keepends=True)[0].encode("gb18030"), "gb18030"),
        ((TRADITIONAL * 3 + "x\t").encode("big5") + b"\xff\n", "big5"),
        (("x\ty\n" * 400_000 + SIMPLIFIED).encode("gb18030"), "gb18030"),
        (("y\0\t好\0\n" * 5).encode(), "utf-8"),
        (b"a\tb\n", "utf-8"),
    ],
)
def test_encodings_are_detected(
    path: Path, content: bytes, encoding: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "hanyi.corpus"):
        assert detected(path, content) == encoding
    assert f"mine.tsv: read as {encoding} (detected)" in caplog.messages


@pytest.mark.parametrize(
    ("src", "text", "encoding"),
    [
        ("ja", "こんにちは、お元気ですか。", "shift_jis"),
        ("ja", "こんにちは、お元気ですか。", "euc_jp"),
        ("ko", "안녕하세요. 잘 지내세요?", "euc_kr"),
        ("fr", "Où êtes-vous allé cet été, mon élève ?", "cp1252"),
    ],
)
def test_the_languages_help_to_detect(path: Path, src: str, text: str, encoding: str) -> None:
    content = f"Hello, how are you?\t{text}\n" * 3
    assert detected(path, content.encode(encoding), src=src) == encoding


def test_few_broken_lines_make_no_other_encoding(path: Path) -> None:
    rows = SIMPLIFIED.encode().split(b"\n")[:-1] * 4
    rows[7] = rows[7][:-1]
    assert detected(path, b"\n".join(rows)) == "utf-8"
    assert [row.line for row in peek(decide(make_input(path)), 30) if row.fault] == [8]
    assert detected(path, b"\n".join(rows[5:8])) == "utf-8"


def test_bytes_that_are_no_text_are_refused(path: Path) -> None:
    with pytest.raises(DataError, match=r"no encoding that can be told.*fetch.reading.encoding"):
        detected(path, bytes(range(128, 256)) * 99)


def test_guesses_from_a_cut_sample() -> None:
    assert guess_encoding(b"plain") is None
    assert guess_encoding(("好" * 50_000).encode()[: 1 << 16]) == "utf-8"
    assert guess_encoding(b"\xff\xfe") == "utf-16-le"
    assert guess_encoding("中文".encode("gb18030") * 9, ["zh"]) == "gb18030"
    assert guess_encoding(b"\x81\xff\xff") is None


def test_names_of_encodings() -> None:
    assert known_encoding("UTF8") == known_encoding("utf-8-sig") == "utf-8"
    assert known_encoding("GB2312") == "gb18030"
    assert known_encoding("cp936") == "gbk"
    for name in ("utf-7", "hz", "iso2022_jp", "nonsense", "base64"):
        with pytest.raises(ValueError, match="encoding must be auto or one of"):
            known_encoding(name)


def test_lines_mark_what_cannot_be_decoded(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\xff\r\n\nc")
    assert list(lines(path, "utf-8")) == ["a", f"b{MARK}", "", "c"]
    path.write_bytes(b"a\n\x81\x30\nb")
    assert list(lines(path, "gb18030")) == ["a", MARK, "b"]
