"""gettext PO: sides by the header, plural forms, faults, syntax that polib passes over."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hanyi.corpus.formats import po
from hanyi.corpus.tables import Row
from hanyi.errors import DataError
from tests.structured import make_input, read_rows

HEAD = (
    'msgid ""\nmsgstr ""\n"Language: zh_CN\\n"\n'
    '"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: nplurals=1; plural=0;\\n"\n\n'
)
OPEN = 'msgid "Open"\nmsgstr "打开"\n\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "zh_CN.po"


def rows_of(path: Path, *entries: str, head: str = HEAD, **reading: object) -> list[Row]:
    path.write_text(head + "".join(entries), encoding="utf-8")
    return read_rows(po, make_input(path, **reading))


@pytest.mark.parametrize(
    ("language", "row"),
    [
        ("zh_CN", Row(7, "打开", "Open", None)),
        ("zh_CN.UTF-8", Row(7, "打开", "Open", None)),
        ("cmn", Row(7, "打开", "Open", None)),
        ("en@quot", Row(7, "Open", "打开", None)),
    ],
)
def test_the_header_says_which_side_is_which(path: Path, language: str, row: Row) -> None:
    assert rows_of(path, OPEN, head=HEAD.replace("zh_CN", language)) == [row]


@pytest.mark.parametrize("head", ["", HEAD, HEAD.replace("zh_CN", "fr")])
def test_columns_that_are_named(path: Path, head: str) -> None:
    named = {"src_column": "msgid", "tgt_column": "msgstr"}
    line = head.count("\n") + 1
    assert rows_of(path, OPEN, head=head, **named) == [Row(line, "Open", "打开", None)]


@pytest.mark.parametrize("head", ["", HEAD.replace("zh_CN", "fr"), HEAD.replace("zh_CN", "")])
def test_no_language_of_the_pair(path: Path, head: str) -> None:
    with pytest.raises(
        DataError, match=r"zh_CN.po: (no Language|Language: fr) .*set fetch.reading"
    ):
        rows_of(path, OPEN, head=head)


def test_wrapped_lines_and_escapes(path: Path) -> None:
    entry = (
        '# a comment\n#. another\n#: a.c:1\n#| msgid "old"\n#, c-format\nmsgctxt "menu"\n'
        'msgid ""\n"say \\"%s\\"\\t"\n"now\\n"\nmsgstr "说\u2028“%s”\\\\"\n"现在\\n"\n'
    )
    assert rows_of(path, OPEN, entry) == [
        Row(7, "打开", "Open", None),
        Row(14, "说\u2028“%s”\\现在\n", 'say "%s"\tnow\n', None),
    ]


def test_plural_forms(path: Path) -> None:
    entry = 'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d 个文件"\n\n'
    empty = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\n'
    assert rows_of(path, entry, empty) == [
        Row(7, "%d 个文件", "%d file", None),
        Row(7, "%d 个文件", "%d files", None),
        Row(11, "a", "", "untranslated"),
        Row(11, "b", "", "untranslated"),
    ]


@pytest.mark.parametrize(
    ("rule", "one"), [("nplurals=3; plural=n==0 ? 0 : n==1 ? 1 : 2;", "1"), ("plural=(n>1)", "0")]
)
def test_the_form_for_one_thing_is_not_always_the_first(path: Path, rule: str, one: str) -> None:
    entry = 'msgid "x"\nmsgid_plural "xs"\nmsgstr[0] "0"\nmsgstr[1] "1"\nmsgstr[2] "2"\n'
    found = rows_of(path, entry, head=HEAD.replace("nplurals=1; plural=0;", rule))
    assert [row.src for row in found] == [one, "2"]


@pytest.mark.parametrize("rule", ["plural=n/0;", "plural=(;", "plural=__import__('os');", "x"])
def test_a_plural_rule_that_is_none(path: Path, rule: str) -> None:
    entry = 'msgid "x"\nmsgid_plural "xs"\nmsgstr[0] "0"\nmsgstr[1] "1"\n'
    found = rows_of(path, entry, head=HEAD.replace("nplurals=1; plural=0;", rule))
    assert [row.src for row in found] == ["0", "1"]


def test_faults(path: Path) -> None:
    found = rows_of(
        path, OPEN, '#, fuzzy\nmsgid "Close"\nmsgstr "关"\n\n', 'msgid "Save"\nmsgstr ""\n\n',
        '#~ msgid "Old"\n#~ msgstr ""\n#~ "旧"\n\n', '#, fuzzy\n#~ msgid "O"\n#~ msgstr "o"\n',
        "#~|\n#:\n",
    )  # fmt: skip
    assert found[1:] == [
        Row(10, "关\tClose", "", "fuzzy"),
        Row(14, "Save", "", "untranslated"),
        Row(17, "旧\tOld", "", "obsolete"),
        Row(21, "o\tO", "", "obsolete"),
    ]


def test_undecodable_bytes_spoil_their_entry_only(path: Path) -> None:
    path.write_bytes((HEAD + OPEN).encode() + b'msgid "a"\nmsgstr "\xff"\n\n' + OPEN.encode())
    assert [row.fault for row in read_rows(po, make_input(path))] == [None, "encoding", None]


def test_undecodable_bytes_in_the_header(path: Path) -> None:
    path.write_bytes((HEAD + OPEN).encode().replace(b"zh_CN", b"zh\xff"))
    with pytest.raises(DataError, match="Language: zh� in the header"):
        po.inspect(make_input(path))


def test_a_message_without_end_does_not_take_for_ever(path: Path) -> None:
    path.write_text(HEAD + 'msgid "x"\nmsgstr ""\n' + '"xxxxxxxxxxxxxxxxxxxxxxxxxxx"\n' * 1_000_000)
    with pytest.raises(DataError, match=r":\d+: a message of more than 10,000 lines"):
        read_rows(po, make_input(path))


@pytest.mark.parametrize("charset", ["GB18030", "gb2312", "Big5", "CHARSET", "utf-8"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_charset_of_the_header(path: Path, charset: str, pack) -> None:  # type: ignore[no-untyped-def]
    text = (HEAD.replace("UTF-8", charset) + OPEN.replace("打开", "好")).replace("\n", "\r\n")
    written = "utf-8" if charset == "CHARSET" else charset
    path.write_bytes(pack(text.encode(written)))
    assert read_rows(po, make_input(path)) == [Row(7, "好", "Open", None)]


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ('msgid "a\nmsgstr "b"\n', 7),
        ("msgid a\nmsgstr b\n", 7),
        ('msgid "a"\nmsgstr "b" c\n', 8),
        ('msgid "a"\nmsgstr "b"c"\n', 8),
        ('msgid "a"\nmsgid "b"\nmsgstr "c"\n', 8),
        ('msgid "a"\n#, x\nmsgid "b"\nmsgstr "c"\n', 1),
        ('"a"\nmsgstr "b"\nmsgstr "c"\n', 8),
        ("msgfoo\n", 7),
        ('#~ msgid "a\n', 7),
    ],
)
def test_broken_syntax_names_the_line(path: Path, entry: str, line: int) -> None:
    with pytest.raises(DataError, match=rf"zh_CN.po:{line}: .*expected gettext PO"):
        rows_of(path, entry)


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", HEAD])
def test_files_without_entries_are_refused(path: Path, text: str) -> None:
    with pytest.raises(DataError, match="no entries"):
        rows_of(path, head=text)
