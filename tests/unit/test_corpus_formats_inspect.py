"""What is decided by the first rows, what is refused, and what the message says to set."""

from __future__ import annotations

from pathlib import Path

import pytest

from hanyi.corpus.formats import FORMATS, REASONS, decide, peek
from hanyi.corpus.formats.inputs import Input
from hanyi.corpus.tables import Row
from hanyi.errors import DataError
from tests.structured import make_input

GOOD = "I see.\t我看见。\nGo on.\t继续。\nStop it.\t停下。\n"
CSV = GOOD.replace("\t", ",")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine.txt"


def inspect(path: Path, content: bytes | str, **reading: object) -> Input:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return decide(make_input(path, **{"format": "tsv", **reading}))


def refused(path: Path, content: bytes | str, **reading: object) -> str:
    with pytest.raises(DataError) as caught:
        inspect(path, content, **reading)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "reading", "words"),
    [
        ("", {}, ["mine.txt:1", "empty"]),
        ("\ufeff", {}, [":1", "empty"]),
        ("\n\n", {}, [":1", "blank"]),
        ("en\tzh\n", {"header": True}, [":1", "no rows"]),
        (GOOD, {"src_column": 5}, [":1", "2 columns", "at least 6", "src_column, now 5"]),
        (GOOD, {"delimiter": ";"}, [":1", "1 column", 'fetch.reading.delimiter to "\\t"']),
        (GOOD, {"delimiter": " "}, [":1", "tabs", 'fetch.reading.delimiter to "\\t"']),
        (GOOD.replace(" ", ","), {"format": "csv"}, [":1", "tabs", 'delimiter to "\\t"']),
        (CSV.replace(",", ";"), {"format": "csv"}, [":1", 'between ","', 'delimiter to ";"']),
        ("only\nwords\nhere\n", {}, [":1", "1 column", "fetch.reading.delimiter"]),
        ("english\tchinese\n" + GOOD, {}, [":1", "header", "fetch.reading.header: true"]),
        ("source_text\tTarget Text\n" + GOOD, {}, [":1", "header", "fetch.reading.header: true"]),
        ("Sentence (EN)\tSentence (zh-CN)\n" + GOOD, {}, [":1", "header"]),
        ('"English"\t"中文"\n' + GOOD, {}, [":1", "header", "fetch.reading.header: true"]),
        (GOOD.encode("utf-16"), {"encoding": "utf-8"}, [":1", "reading.encoding: utf-16-le"]),
        (GOOD.encode("utf-16-le"), {"encoding": "utf-8"}, ["reading.encoding: utf-16-le"]),
        (GOOD.encode("utf-16-be"), {"encoding": "gbk"}, ["reading.encoding: utf-16-be"]),
        (GOOD.encode("gb18030"), {"encoding": "utf-8"}, [":1", "utf-8", "encoding: gb18030"]),
        (GOOD, {"encoding": "gb18030"}, ["fetch.reading.encoding: utf-8"]),
        ("a\tb\n" * 9, {"encoding": "utf-16"}, ["fetch.reading.encoding: utf-8"]),
        ("a\t" * 2000 + "\n", {}, [":1", "more than 1000 columns", "reading.delimiter"]),
        ("1\ta\tb\n2\tc\td\n3\te\tf\n", {}, [":1", "no letter", "fetch.reading.tgt_column"]),
        (
            "a,b,c,d\na,b\na,b,c\na\n",
            {"delimiter": ","},
            [":", "columns", "fetch.reading.delimiter", "fetch.reading.format"],
        ),
        ('"x\n"y\n"z\n', {"format": "csv"}, [":1", "quote", "fetch.reading.format: tsv"]),
        (GOOD.replace("\n", "\r"), {}, [":1", r"\r alone", "convert"]),
        (GOOD.replace("\n", "\r").encode("utf-16"), {}, [":1", r"\r alone", "convert"]),
        (GOOD, {"src_column": 0, "tgt_column": 1}, ["swapped", "src_column: 1 and tgt_column: 0"]),
        (GOOD, {"src_column": "zh"}, ["fetch.reading.src_column", "'zh'", "header: true"]),
        ("en\tzh\n" + GOOD, {"header": True, "src_column": "cn"}, [":1", "'cn'", "'en', 'zh'"]),
        ("zh\tzh\n" + GOOD, {"header": True, "src_column": "zh"}, [":1", "2 columns 'zh'"]),
        ("en\tzh\n" + GOOD, {"header": True, "src_column": "en"}, ["0, as tgt_column"]),
    ],
)  # fmt: skip
def test_first_rows_that_make_no_sense(
    path: Path, content: bytes | str, reading: dict[str, object], words: list[str]
) -> None:
    line = refused(path, content, **reading)
    for word in words:
        assert word in line


def test_columns_of_most_rows_count(path: Path) -> None:
    assert inspect(path, "好\ta\tx\n好\ta\n好\ta\tx\n", src_column=0, tgt_column=1).columns == 3


def test_few_faulty_rows_are_no_error(path: Path) -> None:
    content = GOOD.encode() * 3 + b"\n\xff\tx\nalone\n"
    assert inspect(path, content).columns == 2


@pytest.mark.parametrize("first", ["Chinese food\t中国菜", "en\t好", "Hi.\t源"])
def test_a_pair_is_no_header(path: Path, first: str) -> None:
    assert inspect(path, f"{first}\n{GOOD}").columns == 2


def test_columns_by_name(path: Path) -> None:
    content = ' id ,"中文",en\n1,"好,\n好",good\n'
    file = inspect(path, content, format="csv", header=True, src_column="中文", tgt_column="en")
    assert (file.reading.src_column, file.reading.tgt_column, file.columns) == (1, 2, 3)
    assert peek(file, 5) == [Row(2, "好,\n好", "good", None)]


def test_scripts_that_cannot_tell_sides_apart_are_let_pass(path: Path) -> None:
    path.write_text("Good day.\tGuten Tag.\n" * 3, encoding="utf-8")
    assert decide(make_input(path, src="en", tgt="de")).columns == 2
    path.write_text("ABC\t你好\n" * 4 + "Go.\t走。\n你好\tABC\n", encoding="utf-8")
    with pytest.raises(DataError, match="swapped"):
        decide(make_input(path, src_column=0, tgt_column=1))
    path.write_text("ABC\tABC\n你好\tABC\n" * 3, encoding="utf-8")
    assert decide(make_input(path, src_column=0, tgt_column=1)).columns == 2


@pytest.mark.parametrize(
    ("name", "content", "format_"),
    [
        ("a.tsv", GOOD, "tsv"),
        ("a.txt", GOOD, "tsv"),
        ("corpus", GOOD, "tsv"),
        ("a.CSV", CSV, "csv"),
        ("a.jsonl", '{"zh": "好", "en": "good"}\n', "jsonl"),
        ("a.txt", '{"zh": "好", "en": "good"}\n', "jsonl"),
        (
            "a.txt",
            '# x\n\nmsgid ""\nmsgstr "Language: zh\\n"\n\nmsgid "Open"\nmsgstr "打开"\n',
            "po",
        ),
    ],
)
def test_formats_by_name_and_content(tmp_path: Path, name: str, content: str, format_: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert decide(make_input(path)).reading.format == format_


@pytest.mark.parametrize(
    "content",
    ['<?xml version="1.0"?>\n<tmx version="1.4"><body>', "<tmx><body>", "<srcset a='b'>", "PAR1x"],
)
def test_what_looks_like_another_format_is_read_as_such(tmp_path: Path, content: str) -> None:
    path = tmp_path / "corpus.data"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        decide(make_input(path))
    assert "delimiter" not in str(caught.value)


def test_two_files_are_moses_or_sgm(tmp_path: Path) -> None:
    zh, en = tmp_path / "x.zh", tmp_path / "x.en"
    zh.write_text("好。\n走。\n", encoding="utf-8")
    en.write_text("Good.\nGo.\n", encoding="utf-8")
    assert peek(decide(make_input(zh, en)), 1) == [Row(1, "好。", "Good.", None)]
    with pytest.raises(DataError, match=r"files look swapped.*other file first"):
        decide(make_input(en, zh))
    with pytest.raises(DataError, match="two files as tsv"):
        decide(make_input(zh, en, format="tsv"))
    with pytest.raises(DataError, match="one file, expected two"):
        decide(make_input(zh, format="moses"))
    en.write_text("\n\n", encoding="utf-8")
    zh.write_text("\n \n", encoding="utf-8")
    with pytest.raises(DataError, match="blank"):
        decide(make_input(zh, en))


def test_moses_files_in_two_encodings(tmp_path: Path) -> None:
    zh, en = tmp_path / "x.zh", tmp_path / "x.en"
    zh.write_bytes("你好，世界。\n我走了。\n".encode("gb18030"))
    en.write_text("Hello, world.\nI left.\n", encoding="utf-8")
    assert decide(make_input(zh, en)).reading.encoding == "gb18030"
    en.write_bytes("“Hello, world.”\nI left.\n".encode("gb18030"))
    assert decide(make_input(zh, en)).reading.encoding == "gb18030"
    en.write_text("“Hello, world.”\nI left.\n", encoding="utf-8")
    with pytest.raises(DataError, match="iconv -f gb18030 -t utf-8"):
        decide(make_input(zh, en))
    with pytest.raises(DataError, match="no utf-8"):
        decide(make_input(zh, en, encoding="utf-8"))


def test_peek_gives_the_first_rows(path: Path) -> None:
    file = inspect(path, GOOD + "\n" + "alone\n" * 2)
    assert [row.line for row in peek(file, 2)] == [1, 2]
    assert [row.fault for row in peek(file, 9)] == [None, None, None, "blank", "columns", "columns"]


def test_every_reason_is_listed() -> None:
    for kind in FORMATS.values():
        assert set(kind.REASONS) <= set(REASONS)
    assert len(set(REASONS)) == len(REASONS)
