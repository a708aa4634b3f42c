"""Chinese numerals, and random numbers that never change with the Python version."""

from __future__ import annotations

from random import Random

_DIGITS = "零一二三四五六七八九"


def below(rng: Random, limit: int) -> int:
    """Draw an integer in [0, limit) from ``random()`` alone, whose stream never changes."""
    return int(rng.random() * limit)


def han(value: int) -> str:
    """Write a number in Chinese characters, as far as 99,999,999."""
    if value < 10:
        return _DIGITS[value]
    for size, name in ((10_000, "万"), (1_000, "千"), (100, "百"), (10, "十")):
        if value >= size:
            high, low = divmod(value, size)
            head = "" if size == 10 and high == 1 else counted(high) if size > 100 else han(high)
            gap = "零" if low and low * 10 < size else ""
            tail = han(low)
            if 10 <= low < 20:
                tail = "一" + tail
            return head + name + (gap + tail if low else "")
    raise AssertionError(value)


def counted(value: int) -> str:
    """Write a number as it stands before a measure word: 两 rather than 二."""
    return "两" if value == 2 else han(value)
