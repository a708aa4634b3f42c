"""Counts, ages, prices, measures and stock codes, drawn at random in both languages."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hanyi.starter import english
from hanyi.starter.digits import below, counted, han
from hanyi.starter.times import TIMES

_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)


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
    **TIMES,
    "age": _age,
    "cheap": _cheap,
    "count": _count,
    "degrees": _degrees,
    "dose": _dose,
    "dozens": _dozens,
    "few": _few,
    "hundreds": _hundreds,
    "kilometres": _kilometres,
    "kilos": _kilos,
    "metres": _metres,
    "middle": _middle,
    "nth": _nth,
    "old": _old,
    "ordinal": _floor,
    "page": _page,
    "percent": _percent,
    "phone": _phone,
    "price": _price,
    "room": _room,
    "some": _some,
    "sum": _sum,
    "thousands": _thousands,
    "ticker": _ticker,
    "young": _young,
}
"""Every numeral slot: its name in the patterns, and how to draw (Chinese, English, value)."""
