"""Over-long texts are cut where a reader would pause; nothing but white space is lost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanyi.decoding.segments import join_parts, split_long

TEXTS = st.text(alphabet="我爱。！？；…，：.!?;,: 0５”)a\u0301가🇨🇳\u200d👩", max_size=60)


def plain(text: str) -> str:
    return "".join(text.split())


@given(TEXTS, st.integers(1, 12))
def test_nothing_is_lost_and_the_bound_is_kept(text: str, most: int) -> None:
    parts = split_long(text, len, most)
    assert plain("".join(parts)) == plain(text)
    assert all(part == part.strip() and part for part in parts)
    longest = max(map(len, parts), default=0)
    assert longest <= most or any(sign in text for sign in "\u0301\u200d🇨🇳")


@given(TEXTS, st.integers(1, 12))
def test_parts_are_as_few_as_possible(text: str, most: int) -> None:
    parts = split_long(text, len, most)
    if len(text.strip()) <= most:
        assert parts == [text.strip()] * bool(text.strip())
    else:
        assert len(parts) != 1 or len(parts[0]) <= max(most, 60)


@pytest.mark.parametrize(
    ("text", "most", "parts"),
    [
        ("我爱你。你好吗？他好。", 8, ["我爱你。你好吗？", "他好。"]),
        ("他说：“你好。”我走了。", 9, ["他说：“你好。”", "我走了。"]),
        ("他问：“（真的吗？）”我说……不。", 12, ["他问：“（真的吗？）”", "我说……不。"]),
        ("好！！！走……吧。", 5, ["好！！！", "走……吧。"]),
        ("一共3.5元。二", 7, ["一共3.5元。", "二"]),
        ("It is 3.14159 now. Go!", 18, ["It is 3.14159 now.", "Go!"]),
        ("See example.com today. Yes.", 22, ["See example.com today.", "Yes."]),
        ("I met J. Smith. Really.", 16, ["I met J. Smith.", "Really."]),
        ('He said "Go!" and left. I too.', 24, ['He said "Go!" and left.', "I too."]),
        ("一二三，四五六，七八九", 8, ["一二三，四五六，", "七八九"]),
        ("一二，1,000元，二三", 10, ["一二，1,000元，", "二三"]),
        ("at 10:30, they go", 9, ["at 10:30,", "they go"]),
        ("abc def ghi", 8, ["abc def", "ghi"]),
        ("你好!我走了.一", 7, ["你好!我走了.", "一"]),
        ("一二三四五六七", 4, ["一二三", "四五六七"]),
        ("一二hello三", 7, ["一二", "hello三"]),
        ("总共1,234,567", 10, ["总共", "1,234,567"]),
        ("ee\u0301e\u0301", 3, ["ee\u0301", "e\u0301"]),
        ("👩\u200d👩👩\u200d👩", 4, ["👩\u200d👩", "👩\u200d👩"]),
        ("🇨🇳🇬🇧", 2, ["🇨🇳", "🇬🇧"]),
        ("", 3, []),
        ("  ", 3, []),
    ],
)
def test_texts_are_cut_where_a_reader_would(text: str, most: int, parts: list[str]) -> None:
    assert split_long(text, len, most) == parts


def test_a_sign_of_many_tokens_stays_whole() -> None:
    assert split_long("龘龘", lambda text: 3 * len(text), 2) == ["龘", "龘"]
    assert split_long("e\u0301", len, 1) == ["e\u0301"]


@pytest.mark.parametrize("text", ["a" * 20_000, "龘" * 20_000, "🇨🇳" * 10_000])
def test_a_text_without_breaks_takes_no_quadratic_time(text: str) -> None:
    began = time.process_time()
    parts = split_long(text, len, 100)
    assert "".join(parts) == text
    assert time.process_time() - began < 5  # seconds; 1, or minutes when all places are looked at


def test_a_long_text_takes_no_quadratic_time() -> None:
    asked = 0

    def length(text: str) -> int:
        nonlocal asked
        asked += len(text)
        return len(text)

    text = "一二三四五。" * 5000
    assert len(split_long(text, length, 60)) == 500
    assert asked < 20 * len(text)


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        (["I go.", "You stay."], "I go. You stay."),
        (["我走。", "你留。"], "我走。你留。"),
        (["我走", "你留"], "我走你留"),
        (["안녕", "하세요"], "안녕 하세요"),
        (["a", "", "b"], "a b"),
        (["", "b"], "b"),
        ([], ""),
    ],
)
def test_parts_are_joined_as_their_script_does(parts: list[str], joined: str) -> None:
    assert join_parts(parts) == joined
