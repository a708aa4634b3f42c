"""The numbers of a text as values, whether they stand in digits or in Han numerals."""

from __future__ import annotations

import re
import unicodedata

_GROUPS = re.compile(r"(?<!\d)\d{1,3}(?:[,，\xa0\u2009\u202f]\d{3})+(?!\d)")
_DIGITS = re.compile(r"(\d+(?:\.\d+)?)([百千万萬亿億]*)")
_HAN_DIGITS = {
    char: place
    for place, pair in enumerate(
        ("零〇", "一壹", "二两兩贰", "三叁", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖")
    )
    for char in pair
}
_UNITS = {"十": 10, "拾": 10, "百": 100, "千": 1000}
_SCALES = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_HAN = re.compile(f"[{''.join([*_HAN_DIGITS, *_UNITS, *_SCALES])}]+")


def in_digits(text: str) -> set[str]:
    """Give the numbers that a text writes in digits: `{"1000", "3.5"}` for ``1,000 and ３.５``.

    Separators of thousands and leading zeros go; of 3万 both 3 and 30000 are given.
    """
    found = set()
    for digits, units in _DIGITS.findall(_GROUPS.sub(_joined, _plain(text))):
        found.add(_canonical(digits))
        if units:
            value = float(digits)
            for unit in units:
                value *= _UNITS.get(unit) or _SCALES[unit]
            found.add(f"{value:.0f}")
    return found


def values(text: str) -> set[str]:
    """Give the numbers of a text in digits or in Han numerals: 三十五 is 35, 二〇二四 is 2024."""
    return in_digits(text) | {han_value(run) for run in _HAN.findall(text)}


def han_value(run: str) -> str:
    """Read a run of Han numerals; also the short form, in which 三万五 is 35,000."""
    if all(char in _HAN_DIGITS for char in run):
        return _canonical("".join(str(_HAN_DIGITS[char]) for char in run))
    total = section = digit = 0
    last = 1  # the unit that a digit at the end belongs below
    for char in run:
        if char in _HAN_DIGITS:
            digit = _HAN_DIGITS[char]
            last = 1 if digit == 0 else last
        elif char in _UNITS:
            section += (digit or 1) * _UNITS[char]
            digit, last = 0, _UNITS[char]
        else:
            scale = _SCALES[char]
            section += digit
            if total < scale:  # 三万亿: the scale takes all that stands before it
                total = ((total + section) or 1) * scale
            else:
                total += (section or 1) * scale
            section, digit, last = 0, 0, scale
    return str(total + section + digit * max(1, last // 10))


def _joined(group: re.Match[str]) -> str:
    return "".join(char for char in group[0] if char.isdigit())


def _plain(text: str) -> str:
    if text.isascii():
        return text
    digits = (unicodedata.decimal(char, None) for char in text)
    return "".join(
        char if digit is None else str(digit) for char, digit in zip(text, digits, strict=True)
    )


def _canonical(digits: str) -> str:
    whole, point, part = digits.partition(".")
    return (whole.lstrip("0") or "0") + point + part
