"""Numbers, money, clock times, dates and stock codes, drawn at random in both languages."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hanyi.starter import english

_DIGITS = "零一二三四五六七八九"
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
_DAY_PARTS = (
    ("早上", "in the morning", 6, 8),
    ("上午", "in the morning", 9, 11),
    ("下午", "in the afternoon", 1, 5),
    ("晚上", "in the evening", 6, 10),
)
_SPANS = (
    ("分钟", "minute", (5, 10, 15, 20, 30, 40, 50)),
    ("个小时", "hour", (1, 2, 3, 4, 5, 6, 8)),
    ("天", "day", (1, 2, 3, 4, 5, 10)),
    ("个星期", "week", (1, 2, 3, 4)),
    ("个月", "month", (1, 2, 3, 4, 5, 6)),
    ("年", "year", (1, 2, 3, 4, 5, 6, 8, 10, 20)),
)


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


def _count(rng: Random) -> tuple[str, str, int]:
    value = 2 + int(rng.random() ** 2 * 9)
    return counted(value), english.number(value), value


def _few(rng: Random) -> tuple[str, str, int]:
    value = 1 + int(rng.random() ** 2 * 5)
    return counted(value), english.number(value), value


def _dose(rng: Random) -> tuple[str, str, int]:
    value = 1 + below(rng, 3)
    return counted(value), english.number(value), value


def _some(rng: Random) -> tuple[str, str, int]:
    value = 2 + int(rng.random() * 4)
    return counted(value), english.number(value), value


def _dozens(rng: Random) -> tuple[str, str, int]:
    value = 11 + below(rng, 88)
    if rng.random() < 0.5:
        return str(value), str(value), value
    return han(value), english.number(value), value


def _hundreds(rng: Random) -> tuple[str, str, int]:
    value = (1 + below(rng, 9)) * (100, 1_000, 10_000)[below(rng, 3)]
    if rng.random() < 0.4:
        value = 100 + below(rng, 900)
        return str(value), str(value), value
    return counted(value) if value != 200 else "两百", english.number(value), value


def _age(rng: Random) -> tuple[str, str, int]:
    value = 18 + below(rng, 60)
    return han(value), english.number(value), value


def _young(rng: Random) -> tuple[str, str, int]:
    value = 3 + below(rng, 14)
    return counted(value), english.number(value), value


def _old(rng: Random) -> tuple[str, str, int]:
    value = 60 + below(rng, 35)
    return han(value), english.number(value), value


def _cheap(rng: Random) -> tuple[str, str, int]:
    """Draw a small price: 八块, 35块, 9.9元."""
    style = rng.random()
    if style < 0.4:
        value = 2 + below(rng, 38)
        return f"{counted(value)}块", f"{english.number(value)} yuan", 2
    if style < 0.7:
        value = 2 + below(rng, 48)
        return f"{value}块", f"{value} yuan", 2
    whole, tenth = 1 + below(rng, 49), 1 + below(rng, 9)
    return f"{whole}.{tenth}元", f"{whole}.{tenth} yuan", 2


def _price(rng: Random) -> tuple[str, str, int]:
    """Draw a middling price: 八十五块, 135块, 99.5元, 三百二十块."""
    style = rng.random()
    if style < 0.25:
        value = 30 + below(rng, 70)
        return f"{han(value)}块", f"{english.number(value)} yuan", 2
    if style < 0.6:
        value = 30 + below(rng, 470)
        return f"{value}块", f"{value} yuan", 2
    if style < 0.75:
        whole, tenth = 30 + below(rng, 170), 1 + below(rng, 9)
        return f"{whole}.{tenth}元", f"{whole}.{tenth} yuan", 2
    value = 10 * (10 + below(rng, 90))
    return f"{han(value) if value != 200 else '两百'}块", f"{english.number(value)} yuan", 2


def _sum(rng: Random) -> tuple[str, str, int]:
    """Draw a large sum: 三千元, 5000元, 两万元."""
    value = (1 + below(rng, 9)) * (1_000, 10_000)[below(rng, 2)]
    if rng.random() < 0.5:
        return f"{counted(value)}元", f"{english.number(value)} yuan", 2
    value = 100 * (11 + below(rng, 89))
    return f"{value}元", f"{value} yuan", 2


def _hour(rng: Random) -> tuple[str, str, int]:
    hour = 1 + below(rng, 12)
    name = english.number(hour)
    style = rng.random()
    if style < 0.4:
        return f"{counted(hour)}点", f"{name} o'clock", 1
    if style < 0.6:
        return f"{counted(hour)}点半", f"half past {name}", 1
    if style < 0.75:
        return f"{counted(hour)}点一刻", f"a quarter past {name}", 1
    minute = 5 * (2 + below(rng, 10))
    return f"{counted(hour)}点{han(minute)}分", f"{name} {english.number(minute)}", 1


def _part(rng: Random, part: str, phrase: str, first: int, last: int) -> tuple[str, str, int]:
    hour = first + below(rng, last - first + 1)
    half = rng.random() < 0.4
    spoken = f"half past {english.number(hour)}" if half else english.number(hour)
    return f"{part}{counted(hour)}点" + "半" * half, f"{spoken} {phrase}", 1


def _dawn(rng: Random) -> tuple[str, str, int]:
    return _part(rng, "早上", "in the morning", 6, 8)


def _dusk(rng: Random) -> tuple[str, str, int]:
    if rng.random() < 0.5:
        return _part(rng, "下午", "in the afternoon", 5, 5)
    return _part(rng, "晚上", "in the evening", 6, 7)


def _bedtime(rng: Random) -> tuple[str, str, int]:
    return _part(rng, "晚上", "at night", 9, 11)


def _worktime(rng: Random) -> tuple[str, str, int]:
    if rng.random() < 0.5:
        return _part(rng, "上午", "in the morning", 9, 11)
    return _part(rng, "下午", "in the afternoon", 1, 4)


def _clock(rng: Random) -> tuple[str, str, int]:
    part, phrase, first, last = _DAY_PARTS[below(rng, 4)]
    return _part(rng, part, phrase, first, last)


def _date(rng: Random) -> tuple[str, str, int]:
    month, day = below(rng, 12), 1 + below(rng, 28)
    if rng.random() < 0.5:
        return f"{month + 1}月{day}号", f"{_MONTHS[month]} {day}", 1
    return f"{han(month + 1)}月{han(day)}号", f"{_MONTHS[month]} {day}", 1


def _year(rng: Random) -> tuple[str, str, int]:
    year = 1978 + below(rng, 47)
    return f"{year}年", str(year), 1


def _month(rng: Random) -> tuple[str, str, int]:
    month = below(rng, 12)
    return f"{han(month + 1)}月", _MONTHS[month], 1


def _span(rng: Random) -> tuple[str, str, int]:
    return _make_span(rng, 0, 6)


def _hours(rng: Random) -> tuple[str, str, int]:
    return _make_span(rng, 0, 2)


def _minutes(rng: Random) -> tuple[str, str, int]:
    return _make_span(rng, 0, 1)


def _hourspan(rng: Random) -> tuple[str, str, int]:
    return _make_span(rng, 1, 2)


def _thousands(rng: Random) -> tuple[str, str, int]:
    """Draw a middling sum: 三千元, 4500元."""
    value = 100 * (20 + below(rng, 75))
    if rng.random() < 0.5:
        value = 1_000 * (2 + below(rng, 8))
        return f"{counted(value)}元", f"{english.number(value)} yuan", 2
    return f"{value}元", f"{value} yuan", 2


def _middle(rng: Random) -> tuple[str, str, int]:
    value = 42 + below(rng, 22)
    return han(value), english.number(value), value


def _days(rng: Random) -> tuple[str, str, int]:
    return _make_span(rng, 2, 5)


def _years(rng: Random) -> tuple[str, str, int]:
    return _make_span(rng, 4, 6)


def _make_span(rng: Random, first: int, last: int) -> tuple[str, str, int]:
    unit, name, values = _SPANS[first + below(rng, last - first)]
    value = values[below(rng, len(values))]
    spoken = f"{english.number(value)} {name}s" if value > 1 else english.article(name)
    return counted(value) + unit, spoken, value


def _ticker(rng: Random) -> tuple[str, str, int]:
    """Draw a stock code: Hong Kong (00700), Shanghai (600519), Shenzhen (000858)."""
    style = rng.random()
    known = ("00700", "09988", "03690", "01810", "00005", "00388", "600519", "300750", "000858")
    if style < 0.35:
        code = known[below(rng, len(known))]
    elif style < 0.7:
        code = f"0{below(rng, 10_000):04d}"
    else:
        code = ("600", "601", "000", "002", "300")[below(rng, 5)] + f"{below(rng, 1000):03d}"
    return code, code, 1


def _percent(rng: Random) -> tuple[str, str, int]:
    value = 1 + below(rng, 30)
    if rng.random() < 0.5:
        return f"{value}%", f"{value}%", 2
    return f"百分之{han(value)}", f"{english.number(value)} percent", 2


def _phone(rng: Random) -> tuple[str, str, int]:
    code = "1" + "".join(str(below(rng, 10)) for _ in range(10))
    return code, code, 1


def _degrees(rng: Random) -> tuple[str, str, int]:
    value = 2 + below(rng, 37)
    if rng.random() < 0.5:
        return f"{value}度", f"{value} degrees", 2
    return f"{counted(value)}度", f"{english.number(value)} degrees", 2


def _room(rng: Random) -> tuple[str, str, int]:
    code = str((1 + below(rng, 20)) * 100 + 1 + below(rng, 20))
    return code, code, 1


def _metres(rng: Random) -> tuple[str, str, int]:
    value = 150 + below(rng, 45)
    return f"1.{value - 100}米", f"1.{value - 100} meters", 2


def _kilos(rng: Random) -> tuple[str, str, int]:
    value = 42 + below(rng, 50)
    return f"{value}公斤", f"{value} kilos", 2


def _kilometres(rng: Random) -> tuple[str, str, int]:
    value = 2 + below(rng, 28)
    if rng.random() < 0.5:
        return f"{value}公里", f"{value} kilometers", 2
    return f"{counted(value)}公里", f"{english.number(value)} kilometers", 2


def _page(rng: Random) -> tuple[str, str, int]:
    value = 2 + below(rng, 180)
    if value > 99 or rng.random() < 0.5:
        return str(value), str(value), 1
    return han(value), str(value), 1


def _nth(rng: Random) -> tuple[str, str, int]:
    value = below(rng, 6)
    return han(value + 1), _ORDINALS[value], 1


def _floor(rng: Random) -> tuple[str, str, int]:
    value = 2 + below(rng, 11)
    return han(value), _ORDINALS[value - 1], value


NUMERALS: dict[str, Callable[[Random], tuple[str, str, int]]] = {
    "age": _age,
    "bedtime": _bedtime,
    "cheap": _cheap,
    "clock": _clock,
    "count": _count,
    "date": _date,
    "dawn": _dawn,
    "days": _days,
    "degrees": _degrees,
    "dose": _dose,
    "dozens": _dozens,
    "dusk": _dusk,
    "few": _few,
    "hour": _hour,
    "hours": _hours,
    "hourspan": _hourspan,
    "hundreds": _hundreds,
    "kilometres": _kilometres,
    "kilos": _kilos,
    "metres": _metres,
    "middle": _middle,
    "minutes": _minutes,
    "month": _month,
    "nth": _nth,
    "old": _old,
    "ordinal": _floor,
    "page": _page,
    "percent": _percent,
    "phone": _phone,
    "price": _price,
    "room": _room,
    "some": _some,
    "span": _span,
    "sum": _sum,
    "thousands": _thousands,
    "ticker": _ticker,
    "worktime": _worktime,
    "year": _year,
    "years": _years,
    "young": _young,
}
"""Every numeral slot: its name in the patterns, and how to draw (Chinese, English, value)."""
