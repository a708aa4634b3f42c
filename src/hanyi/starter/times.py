"""Clock times, dates and spans of time, drawn at random in both languages."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hanyi.starter import english
from hanyi.starter.digits import below, counted, han

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
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


def _hours(rng: Random) -> tuple[str, str, int]:
    return _make_span(rng, 0, 2)


def _minutes(rng: Random) -> tuple[str, str, int]:
    return _make_span(rng, 0, 1)


def _hourspan(rng: Random) -> tuple[str, str, int]:
    return _make_span(rng, 1, 2)


def _days(rng: Random) -> tuple[str, str, int]:
    return _make_span(rng, 2, 5)


def _years(rng: Random) -> tuple[str, str, int]:
    return _make_span(rng, 4, 6)


def _make_span(rng: Random, first: int, last: int) -> tuple[str, str, int]:
    unit, name, values = _SPANS[first + below(rng, last - first)]
    value = values[below(rng, len(values))]
    spoken = f"{english.number(value)} {name}s" if value > 1 else english.article(name)
    return counted(value) + unit, spoken, value


TIMES: dict[str, Callable[[Random], tuple[str, str, int]]] = {
    "bedtime": _bedtime,
    "clock": _clock,
    "date": _date,
    "dawn": _dawn,
    "days": _days,
    "dusk": _dusk,
    "hours": _hours,
    "hourspan": _hourspan,
    "minutes": _minutes,
    "worktime": _worktime,
    "year": _year,
    "years": _years,
}
"""Every slot for a time: its name in the patterns, and how to draw it."""
