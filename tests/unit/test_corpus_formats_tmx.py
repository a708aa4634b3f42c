"""TMX: languages, inline codes, encodings, faults of units, broken and hostile XML, memory."""

from __future__ import annotations

import bz2
import gzip
import logging
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import pytest

from hanyi.corpus.formats import tmx
from hanyi.corpus.tables import Row
from hanyi.errors import DataError
from tests.structured import make_input, read_rows

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header srclang="en"/>\n<body>\n'
TAIL = "</body></tmx>\n"
GOOD = (
    '<tu><tuv xml:lang="zh"><seg>你好。</seg></tuv><tuv xml:lang="en"><seg>Hi.</seg></tuv></tu>\n'
)


def unit(*texts: tuple[str, str]) -> str:
    sides = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in texts)
    return f"<tu>{sides}</tu>\n"


def rows_of(path: Path, *units: str, head: str = HEAD, **reading: object) -> list[Row]:
    path.write_text(head + "".join(units) + TAIL, encoding="utf-8")
    return read_rows(tmx, make_input(path, **reading))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.tmx"


def test_units_are_rows_at_the_line_of_their_tag(path: Path) -> None:
    spread = (
        '<tu tuid="2">\n<note>x</note>\n<prop type="p">y</prop>\n<tuv xml:lang="EN-us">'
        "<note>n</note><seg>Good\nday.</seg></tuv>\n"
        '<tuv lang="zh_CN"><seg>日安。</seg></tuv>\n</tu>\n'
    )
    assert rows_of(path, GOOD, spread, GOOD) == [
        Row(4, "你好。", "Hi.", None),
        Row(5, "日安。", "Good\nday.", None),
        Row(12, "你好。", "Hi.", None),
    ]


@pytest.mark.parametrize("code", ["zh", "ZH-HANS", "zh-CN", "zho", "cmn", "zh_TW"])
def test_codes_of_the_same_language(path: Path, code: str) -> None:
    assert rows_of(path, unit((code, "好"), ("eng", "good")))[0] == Row(4, "好", "good", None)


def test_a_narrower_code_takes_its_own(path: Path) -> None:
    path.write_text(HEAD + unit(("zh-TW", "軟體"), ("zh-CN", "软件")) + TAIL, encoding="utf-8")
    assert read_rows(tmx, make_input(path, src="zh", tgt="zh-TW")) == [Row(4, "软件", "軟體", None)]


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ('<bpt i="1">&lt;b&gt;</bpt>Hi<ept i="1">&lt;/b&gt;</ept>.', "Hi."),
        ('Hi<ph x="1">{0}<sub>a note</sub>{1}</ph>.', "Hi."),
        ('<it pos="begin">&lt;i&gt;</it>Hi<ut>x</ut>.', "Hi."),
        ("<hi>Hi</hi><unknown>!</unknown>.", "Hi!."),
        ("a &amp; b &lt;c&gt; &#20320;&#x4F60;", "a & b <c> 你你"),
        ("<![CDATA[a < b & c]]>", "a < b & c"),
        ("a<!-- no -->b<?no x?>c", "abc"),
        ("a&nbsp;b", "a&nbsp;b"),
        ("", ""),
    ],
)
def test_the_text_of_a_segment(path: Path, marked: str, plain: str) -> None:
    found = rows_of(path, GOOD, unit(("zh", "好"), ("en", marked)))
    assert found[1] == Row(5, "好", plain, None)


def test_a_unit_without_a_side_keeps_its_text(path: Path) -> None:
    found = rows_of(
        path, GOOD, unit(("en", "Hi."), ("fr", "Salut.")), unit(("", "?"), ("en", "No.")), "<tu/>"
    )
    assert found[1:] == [
        Row(5, "Hi.\tSalut.", "", "language"),
        Row(6, "?\tNo.", "", "language"),
        Row(7, "", "", "language"),
    ]


def test_a_side_without_a_segment_is_empty(path: Path) -> None:
    found = rows_of(
        path, GOOD, '<tu><tuv xml:lang="zh"/><tuv xml:lang="en"><seg>a</seg></tuv></tu>'
    )
    assert found[1] == Row(5, "", "a", None)


def test_the_first_of_several_is_taken_and_that_is_said(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = rows_of(
            path, unit(("zh-CN", "一"), ("en-US", "one"), ("zh-TW", "壹"), ("en-GB", "1")), GOOD
        )
    assert found[0] == Row(4, "一", "one", None)
    assert "memory.tmx: 1 units have more than one text" in caplog.text


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("GB18030", "gb18030"),
        ("gb2312", "gbk"),
        ("Big5", "big5"),
        ("UTF-16", "utf-16"),
        ("utf-8", "utf-8-sig"),
        ("UTF-16", "utf-8"),  # as some exports say in vain
        ("us-ascii", "utf-8"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_encodings_are_what_the_file_says(path: Path, declared: str, written: str, pack) -> None:  # type: ignore[no-untyped-def]
    text = HEAD.replace("UTF-8", declared) + GOOD + TAIL
    path.write_bytes(pack(text.encode(written)))
    assert read_rows(tmx, make_input(path)) == [Row(4, "你好。", "Hi.", None)]


def test_an_encoding_that_is_given_goes_before_what_the_file_says(path: Path) -> None:
    path.write_bytes((HEAD + 9 * GOOD.replace("你好", "你们都好吗") + TAIL).encode("gb18030"))
    assert read_rows(tmx, make_input(path, encoding="gb18030"))[0].src == "你们都好吗。"
    with pytest.raises(DataError, match=r"memory.tmx:4: bytes that are no utf-8 .* gb18030"):
        tmx.inspect(make_input(path))


@pytest.mark.parametrize("written", ["utf-16", "utf-16-le"])
def test_utf16_that_is_given_needs_no_mark(path: Path, written: str) -> None:
    path.write_bytes((HEAD + GOOD + TAIL).encode(written))
    assert read_rows(tmx, make_input(path, encoding="utf-16")) == [Row(4, "你好。", "Hi.", None)]


def test_what_xml_cannot_hold_spoils_its_unit_only(path: Path) -> None:
    bad = [
        unit(("zh", "好"), ("en", f"a{wrong}b")).encode("utf-8").replace(b"BYTE", byte)
        for wrong, byte in [
            ("BYTE", b"\xff"), ("BYTE", b"\xe4\xbd"), ("BYTE", b"\x0b"), ("BYTE", b"\0"),
            ("BYTE", b"\xed\xa0\x80"), ("&#11;", b""), ("&#x1F;", b""), ("&#xD800;", b""),
        ]
    ]  # fmt: skip
    path.write_bytes(HEAD.encode() + b"".join(9 * [GOOD.encode()] + bad) + TAIL.encode())
    found = read_rows(tmx, make_input(path))
    assert [row.fault for row in found] == 9 * [None] + len(bad) * ["encoding"]
    assert {row.src.rstrip("�b") for row in found[9:]} == {"好\ta"}
    assert all("�b" in row.src for row in found[9:])


def test_pieces_do_not_cut_references(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{n * '.'}&#20320;&amp;&#31;" for n in range(60)]
    path.write_text(HEAD + "".join(unit(("zh", "x"), ("en", t)) for t in texts) + TAIL)
    monkeypatch.setattr(tmx, "CHUNK_CHARS", 29)
    file = make_input(path, encoding="utf-8")
    found = [row for block in tmx.read(file) for row in block.column("src").to_pylist()]
    assert found == [f"x\t{n * '.'}你&\ufffd" for n in range(60)]


@pytest.mark.parametrize(
    ("body", "line", "found"),
    [
        (GOOD + "<tu>\n</tuv>", 6, r"broken XML \(mismatched tag\)"),
        (GOOD + "<tu>", 5, "broken XML"),
        (GOOD + "a & b", 5, "broken XML"),
        (GOOD + "<tu><tu></tu></tu>", 5, "<tu> in <tu>"),
        (GOOD + "<seg>x</seg>", 5, "<seg> in no unit"),
    ],
)
def test_broken_files_name_the_line(path: Path, body: str, line: int, found: str) -> None:
    with pytest.raises(DataError, match=rf"memory.tmx:{line}: {found}"):
        rows_of(path, body)


@pytest.mark.parametrize(
    "content", [b"", b"zh\ten\n", b"\0" * 500, b"<tmx/>", b"<tmx><body/></tmx>"]
)
def test_files_without_units_are_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"memory\.tmx"):
        tmx.inspect(make_input(path))


def test_an_unknown_encoding_is_refused(path: Path) -> None:
    with pytest.raises(DataError, match=r"says it is utf-7.*convert"):
        rows_of(path, GOOD, head=HEAD.replace("UTF-8", "utf-7"))


def test_a_tag_without_end_does_not_take_for_ever(path: Path) -> None:
    with pytest.raises(DataError, match=r"memory.tmx:5: a tag or comment without end"):
        rows_of(path, GOOD, "<!--" + 6_000_000 * "x")


def test_a_long_text_is_no_fault(path: Path) -> None:
    assert len(rows_of(path, GOOD.replace("Hi", 6_000_000 * "x"))[0].tgt) == 6_000_001


def test_entity_declarations_are_refused(path: Path) -> None:
    bomb = "".join(f'<!ENTITY e{n} "{10 * f"&e{n - 1};"}">' for n in range(1, 12))
    head = HEAD.replace("<tmx", f'<!DOCTYPE tmx [<!ENTITY e0 "ha">{bomb}]><tmx')
    with pytest.raises(DataError, match=r"memory.tmx:2: a declaration of entity e0, .* DOCTYPE"):
        rows_of(path, unit(("zh", "&e11;"), ("en", "x")), head=head)


def test_a_plain_doctype_is_no_fault(path: Path) -> None:
    head = HEAD.replace("<tmx", '<!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx')
    assert rows_of(path, GOOD, head=head) == [Row(4, "你好。", "Hi.", None)]


def test_the_codes_that_are_there_are_named(path: Path) -> None:
    with pytest.raises(DataError, match=r"memory.tmx:4: units in de, fr-CA, .*set languages"):
        rows_of(path, unit(("fr-CA", "a"), ("de", "b")), unit(("de", "c")))


def test_memory_does_not_grow_with_the_file(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(HEAD)
        file.writelines(GOOD.replace("Hi", str(n)) for n in range(200_000))
        file.write(TAIL)
    rows, objects, peaks = 0, [], []
    for block in tmx.read(make_input(path, encoding="utf-8")):
        rows += block.num_rows
        objects.append(sys.getallocatedblocks())
        peaks.append(getrusage(RUSAGE_SELF).ru_maxrss)
    assert rows == 200_000
    assert len(peaks) == 4
    assert max(objects[1:3]) - objects[0] < 10_000  # of some 400,000 in a block
    assert peaks[-1] - peaks[1] < 10_000  # KiB: what Expat holds is not counted as objects
