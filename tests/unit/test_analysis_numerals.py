from __future__ import annotations

import pytest

from hanyi.analysis.numerals import han_value, in_digits, values

DIGITS = "零一二三四五六七八九"


def spell(number: int) -> str:
    """Write a number below 10^12 the long way, as Chinese schools teach it."""
    if number == 0:
        return DIGITS[0]
    parts, rest = "", number
    for scale, name in ((10**8, "亿"), (10**4, "万"), (1, "")):
        group, rest = divmod(rest, scale)
        if group:
            parts += DIGITS[0] if parts and group < 1000 else ""
            parts += _four(group) + name
        elif parts and rest and not parts.endswith(DIGITS[0]):
            parts += DIGITS[0]
    return parts


def _four(group: int) -> str:
    text, gap = "", False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = group // unit % 10
        if digit:
            text += (DIGITS[0] if gap and text else "") + DIGITS[digit] + name
            gap = False
        else:
            gap = True
    return text


def test_every_han_numeral_is_read() -> None:
    numbers = [*range(12_000), *range(95_000, 10**12, 7_777_777_777), 10**4, 10**8, 3 * 10**11]
    for number in numbers:
        assert han_value(spell(number)) == str(number), spell(number)


@pytest.mark.parametrize(
    ("run", "value"),
    [
        ("十", 10),
        ("十二", 12),
        ("两百", 200),
        ("一百五", 150),
        ("三万五", 35_000),
        ("一百零五", 105),
        ("三万亿", 3 * 10**12),
        ("二〇二四", 2024),
        ("萬", 10_000),
        ("百万", 10**6),
        ("五亿三万", 500_030_000),
        ("〇〇七", 7),
    ],
)
def test_short_and_old_forms(run: str, value: int) -> None:
    assert han_value(run) == str(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000 and 2 000", {"1000", "2", "0"}),
        ("12,345,678", {"12345678"}),
        ("in 2008,200 people", {"2008", "200"}),
        ("３．５ 00700 0", {"3", "5", "700", "0"}),
        ("3.5 at 3:30", {"3.5", "3", "30"}),
        ("3万人，1.5亿元", {"3", "30000", "1.5", "150000000"}),
        ("٣٥", {"35"}),
        ("三十五", set()),
        ("", set()),
    ],
)
def test_numbers_in_digits(text: str, expected: set[str]) -> None:
    assert in_digits(text) == expected


def test_values_are_equal_however_they_are_written() -> None:
    assert "35" in values("三十五岁") & values("35 years")
    assert "2024" in values("二〇二四年") & values("in 2024")


def test_monstrous_numbers_do_no_harm() -> None:
    assert values("9" * 10_000) == {"9" * 10_000}
    assert values("七" * 10_000) == {"7" * 10_000}
    values("亿" * 10_000 + "九万" * 10_000 + "9" * 500 + "亿" * 50)
