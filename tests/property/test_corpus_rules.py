"""Every rule does on a block what its plain definition does row by row."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanyi.corpus.cleaning.blocks import Block, Side
from hanyi.corpus.cleaning.chinese import SIMPLIFIED, TRADITIONAL, variant_of
from hanyi.corpus.cleaning.cleaner import KEPT, Cleaner
from hanyi.corpus.cleaning.junk import _BRACKETS, _DICTIONARY, _LINK, _SENTENCE_MARKS, _UNDECODED
from hanyi.corpus.cleaning.markup import markup
from hanyi.corpus.cleaning.numbers import differ
from hanyi.corpus.cleaning.rules import FILTERS, REPAIRS
from hanyi.languages import Languages

LANGUAGES = Languages(src="zh", tgt="en")

TEXT = """
a B é é İ ß ﬁ Ａ １ ½ ² I'm hello 我 你好 后 國 国 發 𠮷 々 〇 、 。 ， （ ） “ ” カ な ー ・ 한 각
ᄀ ᅡ ᆨ ی ا م ن क ् ष ক ๆ ไ Д 😀 👩 ❤ ☀ 🏽 🏴 1 10 1000 2017年 1,000 10月 ٣ 3.5 万 million ten 后来
& &amp; &lt; &amp;quot; &#39; &#x4E2D; &#7; &#xD800; &nbsp; &NewLine; &nope; &amp;nope; &amp;amp;lt;
< > <b> </b> <br/> <BR> <a_href="x"> </a> <table> </table> <3 </foo> <foo_x="1"> <p> </p>
- . .. .... ---- ======= aaaa 哈哈哈哈 ! ? , ; : (n.) adj. CL:
https://a.org/b a@b.org /usr/bin/x C:\\x www.a.b and/or â€™ Ã© Â£ ÄãºÃ 锟斤拷 é…” 銆 ÐŸÑ€
"""
PIECES = [piece.replace("_", " ") for piece in TEXT.split()]
HIDDEN = [
    " ", "  ", "\t", "\n", "\r\n", "\x0b", "\x1c", "\x85", "\xa0", "\u2028", "\u3000", "\u1680",
    "\x00", "\x07", "\x92", "\xad", "\u200b", "\u200c", "\u200d", "\u200e", "\u2060", "\ufeff",
    "\ufe0f", "\ufe0e", "\U000e0101", "\u0301", "\u0323", "\u20e3", "\u061c", "\u06dd", "\u180e",
    "\U000e0067", "\U000e007f", "\ufffd", "\ud7ff", "\ue000", "\U0010ffff", "",
]  # fmt: skip
nasty = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.sampled_from(HIDDEN),
        st.sampled_from(HIDDEN[:2]),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=25,
).map("".join)
twice = st.builds(lambda text, times: text * times, nasty, st.integers(1, 4))
texts = nasty | twice
pairs = st.lists(st.tuples(texts, texts) | texts.map(lambda text: (text, text)), max_size=6)

REPAIR_VALUES: dict[str, list[dict[str, Any]]] = {
    "unicode": [{"form": "NFC"}, {"form": "NFKC"}],
    "entities": [{}],
    "tags": [{}],
    "invisible": [{}],
    "spaces": [{}],
    "unsegment": [{"share": 0.5}, {"share": 0.1}, {"share": 1.0}],
    "han": [{"variant": "simplified"}, {"variant": "traditional"}],
    "han_tag": [{}],
}
# What they leave may be well formed again: &amp;amp;lt; becomes &lt; and <<b>b> becomes <b>. OpenCC
# converts by phrases, which a conversion may make anew.
ONCE_MORE = {"entities", "tags", "han"}
FILTER_VALUES: dict[str, list[dict[str, Any]]] = {
    "empty": [{}],
    "identical": [{}],
    "undecoded": [{}],
    "markup": [{}],
    "url": [{}],
    "chars": [{"least": 1, "most": 9}],
    "words": [{"least": 2, "most": 5}],
    "ratio": [{"least": 0.5, "most": 2.0}],
    "script": [{"share": 0.3}, {"share": 1.0}],
    "swapped": [{"share": 0.3}, {"share": 0.9}],
    "numbers": [{"digits": 1}, {"digits": 3}],
    "repeats": [{"most": number} for number in (1, 2, 3, 6, 7, 12)],
    "mixed_han": [{}],
    "fragments": [{"words": 0}, {"words": 3}],
}


def class_of(char: str) -> str:
    """Name the script of a letter, or what else a character is, as Unicode has it."""
    if char.isspace():
        return "white"
    if char == "々":
        return "Han"
    category = unicodedata.category(char)
    if category[0] != "L":
        return category
    name = unicodedata.name(char, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    word = re.split("[ -]", name)[0]
    known = {"HIRAGANA", "KATAKANA", "HANGUL", "LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW"}
    if word == "CJK":
        return "Han"
    return word.title() if word in {*known, "DEVANAGARI", "THAI"} else "Other"


SCRIPTS = "Han Hiragana Katakana Hangul Latin Cyrillic Greek Arabic Hebrew Devanagari Thai Other"
SIZES = dict.fromkeys(SCRIPTS.split(), 1) | {"Han": 3, "Hiragana": 2, "Katakana": 2, "Hangul": 2}


def size(text: str, *classes: str) -> int:
    return sum(SIZES.get(class_of(char), 1) for char in text if class_of(char) in classes)


def words(text: str) -> int:
    unspaced = {"Han", "Hiragana", "Katakana", "Thai"}
    alone = sum(class_of(char) in unspaced for char in text)
    rest = "".join(" " if class_of(char) in unspaced else char for char in text)
    return alone + len(rest.split())


def foreign(text: str, script: str, share: float) -> bool:
    return size(text, script) < share * size(text, *SIZES)


def outside(number: float, rule: Any) -> bool:
    return not rule.least <= number <= rule.most


def ratio(rule: Any, src: str, tgt: str) -> bool:
    one, other = (size(text, *SIZES, "Nd") + 3 for text in (src, tgt))
    return other < rule.least * one or other > rule.most * one


def repeats(rule: Any, text: str) -> bool:
    for distance in (1, 2):
        for place, char in enumerate(text):
            row = text[place : place + rule.most * distance + 1]
            between = set(row[1::2]) if distance == 2 else {" "}
            whole = len(row) == rule.most * distance + 1
            plain = not char.isspace() and not char.isdecimal()
            if whole and plain and set(row[::distance]) == {char} and between == {" "}:
                return True
    return False


def invisible_only(text: str) -> bool:
    return all(char.isspace() or unicodedata.category(char) in {"Cc", "Cf"} for char in text)


def fragments(rule: Any, src: str, tgt: str) -> bool:
    short = all(words(text) <= rule.words for text in (src, tgt))
    marks = any(char in _SENTENCE_MARKS for char in src + tgt)
    written = any(re.search(_DICTIONARY, text, re.ASCII) for text in (src, tgt))
    return (short and not marks) or written


def either(test: Callable[[Any, str], object]) -> Callable[[Any, str, str], bool]:
    return lambda rule, src, tgt: bool(test(rule, src)) or bool(test(rule, tgt))


DEFINITIONS: dict[str, Callable[[Any, str, str], bool]] = {
    "empty": either(lambda _, text: invisible_only(text)),
    "identical": lambda _, src, tgt: len(src) == len(tgt) and src.lower() == tgt.lower(),
    "undecoded": either(lambda _, text: _UNDECODED.search(text)),
    "markup": lambda _, src, tgt: markup(src) != markup(tgt),
    "url": either(lambda _, text: " " not in text and _LINK.fullmatch(text.strip(_BRACKETS))),
    "chars": either(lambda rule, text: outside(len(text), rule)),
    "words": either(lambda rule, text: outside(words(text), rule)),
    "ratio": ratio,
    "script": lambda rule, src, tgt: (
        foreign(src, "Han", rule.share) or foreign(tgt, "Latin", rule.share)
    ),
    "swapped": lambda rule, src, tgt: (
        foreign(src, "Han", rule.share)
        and foreign(tgt, "Latin", rule.share)
        and not foreign(src, "Latin", rule.share)
        and not foreign(tgt, "Han", rule.share)
    ),
    "numbers": lambda rule, src, tgt: differ(src, tgt, rule.digits),
    "repeats": either(repeats),
    "mixed_han": lambda _, src, tgt: (
        {SIMPLIFIED, TRADITIONAL} <= {variant_of(char) for char in src if class_of(char) == "Han"}
    ),
    "fragments": fragments,
}


def made(kinds: dict[str, Any], values: dict[str, list[dict[str, Any]]]) -> list[Any]:
    return [kinds[name](rule=name, **each) for name in kinds for each in values[name]]


def test_every_rule_has_its_definition_here() -> None:
    assert set(DEFINITIONS) == set(FILTERS) == set(FILTER_VALUES)
    assert set(REPAIRS) == set(REPAIR_VALUES)


@pytest.mark.parametrize("rule", made(FILTERS, FILTER_VALUES), ids=str)
@settings(deadline=None, max_examples=60)
@given(pairs)
def test_a_filter_is_its_definition(rule: Any, pairs: list[tuple[str, str]]) -> None:
    src, tgt = (pa.array([pair[side] for pair in pairs], pa.string()) for side in (0, 1))
    found = rule.objects(Block(Side(src), Side(tgt), LANGUAGES))
    assert found.dtype == bool
    assert found.tolist() == [bool(DEFINITIONS[rule.rule](rule, *pair)) for pair in pairs]


@pytest.mark.parametrize("rule", made(REPAIRS, REPAIR_VALUES), ids=str)
@settings(deadline=None, max_examples=100)
@given(st.lists(texts, max_size=6))
def test_a_repair_suspects_all_that_it_changes(rule: Any, texts: list[str]) -> None:
    suspects = rule.suspects(Side(pa.array(texts, pa.string())))
    assert suspects.dtype == bool
    assert suspects.shape == (len(texts),)
    for text, suspect in zip(texts, suspects, strict=True):
        repaired = rule.apply(text)
        assert suspect or repaired == text
        assert rule.rule in ONCE_MORE or rule.apply(repaired) == repaired


@settings(deadline=None, max_examples=300)
@given(nasty)
def test_repairs_never_make_what_others_mend(text: str) -> None:
    unescaped = REPAIRS["entities"](rule="entities").apply(text)
    for category in ("Cc", "Cs"):
        before = sum(unicodedata.category(char) == category for char in text)
        assert sum(unicodedata.category(char) == category for char in unescaped) <= before
    if "&" in text and "amp" not in text and "&#" not in text and "nope" not in text:
        assert unescaped.split() == html.unescape(text).split()
    spaced = REPAIRS["spaces"](rule="spaces").apply(text)
    assert spaced == " ".join(re.split(r"\s+", text)).strip()
    seen = [char for char in text if unicodedata.category(char) not in {"Cc", "Cf", "Mn"}]
    visible = REPAIRS["invisible"](rule="invisible").apply(text)
    assert [
        char for char in visible if unicodedata.category(char) not in {"Cc", "Cf", "Mn"}
    ] == seen
    joined = REPAIRS["unsegment"](rule="unsegment", share=0.1).apply(text)
    assert re.sub(r"\s", "", joined) == re.sub(r"\s", "", text)


ALL = [*made(REPAIRS, REPAIR_VALUES)[:5], *made(FILTERS, FILTER_VALUES)[:4]]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(texts, texts), max_size=40), st.permutations(ALL), st.booleans())
def test_a_list_of_rules_works_row_by_row(
    pairs: list[tuple[str, str]], rules: list[Any], given: bool
) -> None:
    """Also where a block keeps what it knows of the rows that no repair has changed."""
    src, tgt = (pa.array([pair[side] for pair in pairs], pa.string()) for side in (0, 1))
    cleaned = Cleaner(rules, LANGUAGES).clean(src, tgt, given=given)
    for row, pair in enumerate(pairs):
        one, other = pair
        rejected = KEPT
        for number, rule in enumerate(rules):
            if rule.rule in REPAIRS:
                one, other = rule.apply(one), other if given else rule.apply(other)
                continue
            asked = rejected == KEPT and not (given and rule.spares_given)
            if asked and DEFINITIONS[rule.rule](rule, one, other):
                rejected = number
        assert cleaned.rejected[row] == rejected
        assert (cleaned.src[row].as_py(), cleaned.tgt[row].as_py()) == (one, other)


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=60), st.data())
def test_patched_features_are_those_of_the_new_texts(before: list[str], data: Any) -> None:
    side = Side(pa.array(before, pa.string()))
    names = ["codes", "lengths", "classes", "traits", "counts", "starts", "words", "row_of"]
    for name in names:
        getattr(side, name)
    few = st.sets(st.integers(0, len(before) - 1), max_size=max(1, len(before) // 16))
    rows = np.array(sorted(data.draw(few)), np.int64)
    after = list(before)
    for row in rows:
        after[row] = data.draw(texts)
    patched = side.replaced(rows, [after[row] for row in rows])
    fresh = Side(pa.array(after, pa.string()))
    for name in names:
        assert np.array_equal(getattr(patched, name), getattr(fresh, name)), name
