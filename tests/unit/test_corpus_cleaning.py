"""Each rule on text as corpora have it: what it takes, and what it leaves alone."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

from hanyi.corpus.cleaning.blocks import Block, Side
from hanyi.corpus.cleaning.cleaner import Cleaner
from hanyi.corpus.cleaning.config import repairer
from hanyi.corpus.cleaning.rules import FILTERS, REPAIRS
from hanyi.languages import Languages

LANGUAGES = Languages(src="zh", tgt="en")


def repaired(text: str, rule: str, **values: Any) -> str:
    return repairer([REPAIRS[rule](rule=rule, **values)])(text)


def rejected(src: str, tgt: str, rule: str, **values: Any) -> bool:
    block = Block(Side(pa.array([src])), Side(pa.array([tgt])), LANGUAGES)
    return bool(FILTERS[rule](rule=rule, **values).objects(block)[0])


def test_white_space_becomes_single_spaces() -> None:
    text = "\u3000 我\t 爱\xa0\u202f你\r\n\u2028\x85\x0b\x0c。 "
    assert repaired(text, "spaces") == "我 爱 你 。"


def test_every_white_space_character_and_no_other_is_squeezed() -> None:
    codes = [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]
    squeezed = {code for code in codes if repaired(f"a{chr(code)}b", "spaces") == "a b"}
    named = {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
    assert squeezed == named | set(range(0x09, 0x0E)) | set(range(0x1C, 0x20)) | set(
        range(0x2000, 0x200B)
    )


def test_unicode_forms() -> None:
    assert repaired("e\u0301 Ａ１", "unicode", form="NFC") == "é Ａ１"
    assert repaired("Ａ１！ﬁ", "unicode", form="NFKC") == "A1!fi"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tom &amp; Jerry", "Tom & Jerry"),
        ("He said &quot;no&quot;", 'He said "no"'),
        ("&amp;quot;好&amp;quot;", '"好"'),  # escaped twice
        ("&#20013;&#x6587;", "中文"),
        ("it&#39;s", "it's"),
        ("&#146;", "’"),  # Windows-1252, as browsers read it
        ("a&nbsp;b", "a\xa0b"),
        ("a&#10;b&NewLine;c", "a b c"),
        ("AT&T; R&D", "AT&T; R&D"),
        ("a &copy b &lt", "a &copy b &lt"),  # not well formed
        ("&#7; &#0; &#xD800; &#x110000;", "&#7; &#0; &#xD800; &#x110000;"),
        ("&notit; &amp;nope;", "&notit; &nope;"),
    ],
)
def test_entities(text: str, expected: str) -> None:
    assert repaired(text, "entities") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<i>Hello</i> there", "Hello there"),
        ("- <I>半句", "- 半句"),
        ("one<br />two<BR>three", "one two three"),
        ('<font color="#fff">字</font>', "字"),
        ("<p class=x>a</p><p class=x>b</p>", " a  b "),
        ('See <a href="https://a.org">here</a>.', "See here."),
        ('<g id="1">粗</g><x id="2"/>', "粗"),
        ("a < b and c > d", "a < b and c > d"),
        ("I <3 you", "I <3 you"),
        ("if a <b and c> d", "if a <b and c> d"),
        ("cp <source> <target>", "cp <source> <target>"),
        ("List<String>", "List<String>"),
        ("the <table> element", "the <table> element"),
        ("换行符（<br>）", "换行符（<br>）"),
        ("use <b> and </b>", "use <b> and </b>"),
    ],
)
def test_tags(text: str, expected: str) -> None:
    assert repaired(text, "tags") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("昨天\u200b\u200b变冷了", "昨天变冷了"),
        ("\ufeffHello", "Hello"),
        ("co\xadoperate", "cooperate"),
        ("bell\x07 null\0", "bell null"),
        ("\u200eleft\u202a to right\u202c", "left to right"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # Persian needs it
        ("می \u200cخواهم\u200c", "می خواهم"),
        ("می\u200c\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("a\u200cb 我\u200d你", "ab 我你"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
        ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"),
        ("👩🏽\u200d💻", "👩🏽\u200d💻"),
        ("1\ufe0f\u20e3", "1\ufe0f\u20e3"),
        ("葛\U000e0100城", "葛城"),
        ("🏴\U000e0067\U000e0062\U000e007f!", "🏴\U000e0067\U000e0062\U000e007f!"),
        ("x\U000e0067\U000e0062\U000e007f!", "x!"),
        ("tab\tand\nline", "tab\tand\nline"),  # for rule `spaces`
    ],
)
def test_invisible(text: str, expected: str) -> None:
    assert repaired(text, "invisible") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我 喜欢 北京 的 秋天 。", "我喜欢北京的秋天。"),
        ("他 说 ： “ 你 好 ” 。", "他说：“你好”。"),
        ("他 有 3 本 Python 书", "他有 3 本 Python 书"),
        ("在 Python 中，列表 和元组不同", "在 Python 中，列表 和元组不同"),
        ("张三丰 李四光 王五", "张三丰 李四光 王五"),
        ("plain English words", "plain English words"),
        ("わたし は 学生 です", "わたしは学生です"),
    ],
)
def test_unsegment(text: str, expected: str) -> None:
    share = 0.3 if "わ" in text else 0.5
    assert repaired(text, "unsegment", share=share) == expected


def test_han() -> None:
    assert repaired("頭髮發生了變化", "han", variant="simplified") == "头发发生了变化"
    assert repaired("头发发生了变化", "han", variant="traditional") == "頭髮發生了變化"
    assert repaired("国会の答弁", "han", variant="traditional") == "国会の答弁"
    assert repaired("no Han", "han", variant="simplified") == "no Han"


def test_han_tag() -> None:
    sources, targets = ["hair", "behind", "both"], ["頭髮", "后面", "头髮"]
    rules = [REPAIRS["spaces"](rule="spaces"), REPAIRS["han_tag"](rule="han_tag")]
    cleaner = Cleaner(rules, Languages(src="en", tgt="zh"))
    cleaned = cleaner.clean(pa.array(["hair ", *sources[1:]]), pa.array(targets), given=True)
    assert cleaned.src.to_pylist() == ["<hant> hair", "behind", "both"]
    assert cleaned.tgt.to_pylist() == targets
    assert [(each.rule, each.before, each.after) for each in cleaned.repaired] == [
        (0, ["hair "], ["hair"]),
        (1, ["hair"], ["<hant> hair"]),
    ]
    untagged = Cleaner(rules, LANGUAGES).clean(pa.array(targets), pa.array(sources), given=False)
    assert untagged.src.to_pylist() == targets


def test_one_converter_serves_all_threads() -> None:
    convert = repairer([REPAIRS["han"](rule="han", variant="simplified")])
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(convert, ["頭髮發生了變化" * 50] * 400))
    assert found == {"头发发生了变化" * 50}


@pytest.mark.parametrize(
    ("src", "tgt", "bad"),
    [
        ("", "a", True),
        ("好", " \u3000\u200b", True),
        ("好", ".", False),
    ],
)
def test_empty(src: str, tgt: str, bad: bool) -> None:
    assert rejected(src, tgt, "empty") == bad


def test_identical() -> None:
    assert rejected("WiFi", "wifi", "identical")
    assert not rejected("WiFi", "WLAN", "identical")


@pytest.mark.parametrize(
    "text",
    [
        "It\xe2\u20ac\u2122s", "caf\xc3\xa9", "50\xc2\xa3", "\xe4\xbd\xa0\xe5\xa5\xbd", "ÄãºÃ",
        "don\x92t", "a\ufffdb", "锟斤拷", "浣犲ソ銆", "ÐŸÑ€Ð¸",
    ],
)  # fmt: skip
def test_undecoded(text: str) -> None:
    assert rejected("好", text, "undecoded")


@pytest.mark.parametrize(
    "text",
    [
        "the café…”",
        "«É»",
        "naïve Ångström",
        "SÃO PAULO",
        "créée à l’été",
        "Привет",
        "10 °C ± 2",
        "锛子",
    ],
)
def test_what_is_decoded_well(text: str) -> None:
    assert not rejected("好", text, "undecoded")


@pytest.mark.parametrize(
    ("src", "tgt", "bad"),
    [
        ("好 &quot;", "good", True),
        ("好", "<i>good", True),
        ("好", 'a <span lang="en">good', True),
        ("好</quote>", "good", True),
        ("<form> 和 </form>", "<form> and </form>", False),  # what the text is about
        ("用 <name>", "use <title>", False),
        ("a < b", "a > b & c", False),
    ],
)
def test_markup(src: str, tgt: str, bad: bool) -> None:
    assert rejected(src, tgt, "markup") == bad


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("https://a.org/x?y=1", True),
        ("(www.example.com)", True),
        ("tom@example.co.uk", True),
        ("example.com/a/b", True),
        ("/usr/share/doc", True),
        (r"C:\Windows", True),
        ("and/or", False),
        ("他/她", False),
        ("U.S.A.", False),
        ("见https://a.org/x。", False),
        ("/proc/mdstat文件列出现有卷", False),
        ("See https://a.org", False),
        ("3.14", False),
    ],
)
def test_url(text: str, bad: bool) -> None:
    assert rejected("好", text, "url") == bad


def test_chars_and_words() -> None:
    assert rejected("好" * 11, "a", "chars", least=1, most=10)
    assert rejected("好", "a", "chars", least=2, most=10)
    assert not rejected("好" * 10, "a" * 10, "chars", least=1, most=10)
    assert rejected("我喜欢", "I", "words", least=1, most=2)
    assert not rejected("我喜", "I do", "words", least=1, most=2)


def test_ratio() -> None:
    good = ("我不知道你在说什么。", "I don't know what you are talking about.")
    assert not rejected(*good, "ratio", least=0.5, most=2.0)
    assert not rejected(good[1], good[0], "ratio", least=0.5, most=2.0)
    assert not rejected("贵", "short name for Guizhou", "ratio", least=0.2, most=5.0)
    assert rejected("他远远超过了别人。", "PH", "ratio", least=0.2, most=5.0)
    assert rejected("好", "Good, and much else that nobody has said.", "ratio", least=0.2, most=5.0)
    assert not rejected("！", "?", "ratio", least=0.2, most=5.0)


@pytest.mark.parametrize(
    ("src", "tgt", "bad"),
    [
        ("Untranslated text", "Untranslated text, indeed", True),
        ("请调用 KEY_WOW64_64KEY 再试", "Call KEY_WOW64_64KEY and retry", False),
        ("好的", "Ok, 就这样吧，没有问题", True),
        ("华为", "Huawei (华为)", False),
        ("12:30", "12:30", False),
    ],
)
def test_script(src: str, tgt: str, bad: bool) -> None:
    assert rejected(src, tgt, "script", share=0.3) == bad


def test_swapped() -> None:
    assert rejected("I like it.", "我喜欢。", "swapped", share=0.3)
    assert not rejected("我喜欢。", "I like it.", "swapped", share=0.3)
    assert not rejected("I like it.", "I like it.", "swapped", share=0.3)


@pytest.mark.parametrize(
    ("src", "tgt", "bad"),
    [
        ("2017年5月3日", "May 3, 2017", False),
        ("２０１７年", "In 2017", False),
        ("人口约100 000", "a population of 100,000", False),
        ("100、200和300", "100, 200 and 300", False),
        ("1000万英镑", "£10 million", False),
        ("20世纪1980年代", "the 1980s", False),
        ("共250人", "two hundred and fifty people", False),
        ("2020年的2020杯", "the cup of 2020", False),
        ("2017 年 5 月 17 日", "May 17, 2010.", True),
        ("优先级100", "a priority of 500", True),
        ("他住在这里。", "He lived here in 1994.", True),
        ("10月", "October", False),  # fewer digits
    ],
)
def test_numbers(src: str, tgt: str, bad: bool) -> None:
    assert rejected(src, tgt, "numbers", digits=3) == bad


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("Contents ............ 5", True),
        ("Contents . . . . . . . .", True),
        ("哈哈哈哈哈哈哈", True),
        ("wait...", False),
        ("1000000000", False),
        ("哈 哈哈 哈哈 哈", False),
    ],
)
def test_repeats(text: str, bad: bool) -> None:
    assert rejected("好", text, "repeats", most=6) == bad


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("服務器端支持客户端", True),
        ("皇后在后面的台上", False),  # 后 and 台 are of both
        ("他們來了", False),
        ("他们来了", False),
    ],
)
def test_mixed_han(text: str, bad: bool) -> None:
    assert rejected(text, "good", "mixed_han") == bad
    assert not rejected("好", text, "mixed_han")


@pytest.mark.parametrize(
    ("src", "tgt", "bad"),
    [
        ("上下文", "next context", True),
        ("你好！", "Hello!", False),
        ("我昨天去了北京", "I went to Beijing yesterday", False),
        ("个", "CL:個[ge4] of many things that one counts.", True),
        ("快", "(adj.) fast, and with more words, too", True),
        ("这是一个变体。", "This is a variant of the method.", False),
    ],
)
def test_fragments(src: str, tgt: str, bad: bool) -> None:
    assert rejected(src, tgt, "fragments", words=3) == bad
