"""SGM of WMT: segments joined by document and id, the text as sacrebleu takes it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hanyi.corpus.formats import sgm
from hanyi.corpus.tables import Row
from hanyi.errors import DataError
from tests.structured import make_input, read_rows

SOURCE = """<srcset setid="newstest" srclang="any">
<doc sysid="ref" docid="one" genre="news" origlang="zh">
<p>
<seg id="1">你好 & <再见>。</seg>
<seg id="2">  AT&amp;T\t很  大 </seg>
</p>
</doc>
<DOC origlang='zh' docid='two'>
<seg id=1>二</seg><seg id=2>三
四</seg>
</DOC>
</srcset>
"""
REFERENCE = """<refset setid="newstest" srclang="any" trglang="en">
<doc sysid="ref" docid="two" genre="news" origlang="zh">
<seg id="1">Two.</seg>
<seg id="2">Three,
  four.</seg>
</doc>
<doc sysid="ref" docid="one">
<seg id="1">Hi & <bye>.</seg>
<seg id="2">AT&amp;T is big</seg>
</doc>
</refset>
"""


def rows_of(tmp_path: Path, source: str, reference: str, **reading: object) -> list[Row]:
    paths = tmp_path / "zh.sgm", tmp_path / "en.sgm"
    for path, text in zip(paths, (source, reference), strict=True):
        path.write_text(text, encoding="utf-8")
    return read_rows(sgm, make_input(*paths, **reading))


def test_segments_are_joined_in_the_order_of_the_source(tmp_path: Path) -> None:
    assert rows_of(tmp_path, SOURCE, REFERENCE) == [
        Row(4, "你好 & <再见>。", "Hi & <bye>.", None),
        Row(5, "AT&amp;T 很 大", "AT&amp;T is big", None),
        Row(9, "二", "Two.", None),
        Row(9, "三 四", "Three, four.", None),
    ]


def test_segments_without_a_partner(tmp_path: Path) -> None:
    more = SOURCE.replace("</srcset>", '<doc docid="x"><seg id="9">九</seg></doc></srcset>')
    less = REFERENCE.replace('id="2">AT', 'id="7">AT') + '<seg id="1">lost</seg>'
    found = rows_of(tmp_path, more, less)
    assert [row for row in found if row.fault] == [
        Row(5, "AT&amp;T 很 大", "", "unpaired"),
        Row(12, "九", "", "unpaired"),
        Row(9, "AT&amp;T is big", "", "unpaired"),
        Row(12, "lost", "", "unpaired"),
    ]


def test_ids_that_stand_twice(tmp_path: Path) -> None:
    twice = SOURCE.replace("<seg id=2>", "<seg id=1>")
    second = REFERENCE.replace("</refset>", '<doc docid="two"><seg id="1">2.</seg></doc></refset>')
    assert [row for row in rows_of(tmp_path, twice, second) if row.line >= 9 or row.fault] == [
        Row(9, "二", "Two.", None),
        Row(9, "三 四", "", "unpaired"),
        Row(4, "Three, four.", "", "unpaired"),
        Row(11, "2.", "", "unpaired"),
    ]


def test_a_segment_that_does_not_end(tmp_path: Path) -> None:
    found = rows_of(tmp_path, SOURCE.replace("二</seg>", "二"), REFERENCE)
    assert [row.fault for row in found] == [None, None, "unclosed", None]
    assert found[2].src == "二\tTwo."
    found = rows_of(tmp_path, SOURCE, REFERENCE.replace("is big</seg>", "is big"))
    assert [row.fault for row in found] == [None, "unclosed", None, None]
    found = rows_of(tmp_path, SOURCE.partition("四")[0], REFERENCE)
    assert found[3] == Row(9, "三\tThree, four.", "", "unclosed")


def test_undecodable_bytes(tmp_path: Path) -> None:
    paths = tmp_path / "zh.sgm", tmp_path / "en.sgm.gz"
    paths[0].write_bytes(SOURCE.encode().replace("再".encode(), b"\xff"))
    paths[1].write_bytes(gzip.compress(REFERENCE.encode()))
    found = read_rows(sgm, make_input(*paths))
    assert [row.fault for row in found] == ["encoding", None, None, None]
    assert found[0].src == "你好 & <�见>。\tHi & <bye>."


def test_text_is_what_sacrebleu_takes(tmp_path: Path) -> None:
    from sacrebleu.dataset.fake_sgml import FakeSGMLDataset

    lines = ['<seg id="1">a &amp; b <c>  d\t</seg>', '<seg id="2"> 好&quot; </seg> ']
    text = "\n".join(['<doc docid="d">', *lines, "</doc>\n"])
    found = rows_of(tmp_path, text, text)
    data = FakeSGMLDataset.__new__(FakeSGMLDataset)
    data._convert_format(str(tmp_path / "zh.sgm"), str(tmp_path / "out"))
    assert [row.src for row in found] == (tmp_path / "out").read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    ("source", "reference", "message"),
    [
        (REFERENCE, SOURCE, "zh.sgm: a <refset>.*turn"),
        (SOURCE, SOURCE, "en.sgm: a <srcset>"),
        ("", "", "no <seg>"),
        ("a\tb", "<doc/>", "no <seg>"),
        (SOURCE, REFERENCE.replace("docid", "x"), "8 segments, none that both files have whole"),
    ],
)
def test_files_that_do_not_fit(tmp_path: Path, source: str, reference: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        rows_of(tmp_path, source, reference)


def test_one_file_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "zh.sgm").write_text(SOURCE)
    with pytest.raises(DataError, match="one file, expected two"):
        sgm.inspect(make_input(tmp_path / "zh.sgm"))
