"""Charts as inline SVG, which take their colours from the page, light or dark."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 360, 222  # units of the drawing, about pixels on a phone
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 10, 48  # of them around what is drawn
TICKS = 4  # about so many steps of an axis
STEPS = (1, 2, 2.5, 5, 10)
GROUP = 0.8  # share of the width of a group that its bars fill
LETTER = 6.2  # width of a character
DOTTED = 20  # points of a line that get a dot each, at most
LINE = 14  # height of a line of text


class Series(NamedTuple):
    """Points in order of x; `style` names the classes that say how they are drawn."""

    label: str
    points: Sequence[tuple[float, float]]
    style: str


class Bars(NamedTuple):
    """A value for each group, or None where there is none."""

    label: str
    values: Sequence[float | None]
    style: str


def lines(
    title: str,
    series: Sequence[Series],
    x_label: str,
    *,
    from_zero: bool = False,
    mark: float | None,
) -> str:
    """Draw lines over a common axis; `mark` is an x that gets a vertical line."""
    drawn = [one for one in series if one.points]
    xs = [x for one in drawn for x, _ in one.points]
    ys = [y for one in drawn for _, y in one.points]
    if not xs:
        return ""
    across, up = _axis(min(xs), max(xs), exact=True), _axis(0 if from_zero else min(ys), max(ys))
    parts = [*_grid(up), *_under(across)]
    if mark is not None:
        at = _number(_x(across, mark))
        parts.append(f'<line class="mark" x1="{at}" x2="{at}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
    for one in drawn:
        places = [(_x(across, x), _y(up, y)) for x, y in one.points]
        path = " ".join(f"{_number(x)},{_number(y)}" for x, y in places)
        parts.append(f'<polyline class="{one.style}" points="{path}"/>')
        if len(places) > DOTTED:
            continue
        for (x, y), (value, height) in zip(places, one.points, strict=True):
            told = escape(f"{one.label}, {x_label} {value:,.6g}: {height:,.5g}")
            parts.append(
                f'<circle class="{one.style}" cx="{_number(x)}" cy="{_number(y)}" r="2.5">'
                f"<title>{told}</title></circle>"
            )
    return _figure(title, parts, x_label, HEIGHT - LINE, [(one.label, one.style) for one in drawn])


def columns(
    title: str,
    groups: Sequence[str],
    bars: Sequence[Bars],
    x_label: str,
    *,
    counts: Sequence[int],
    highest: float,
) -> str:
    """Draw bars side by side for each group, over the count of the group, up to `highest`."""
    if not groups:
        return ""
    up = _axis(0, highest)
    width = (WIDTH - LEFT - RIGHT) / len(groups)
    each = width * GROUP / len(bars)
    parts = list(_grid(up))
    for number, one in enumerate(bars):
        for place, value in enumerate(one.values):
            if value is None:
                continue
            x = LEFT + width * (place + (1 - GROUP) / 2) + each * number
            y = _y(up, value)
            told = escape(f"{one.label}, {x_label} {groups[place]}: {value:,.4g}")
            parts.append(
                f'<rect class="{one.style}" x="{_number(x)}" y="{_number(y)}"'
                f' width="{_number(each * 0.94)}" height="{_number(HEIGHT - BOTTOM - y)}">'
                f"<title>{told}</title></rect>"
            )
    labels = [[group, f"{count:,}"] for group, count in zip(groups, counts, strict=True)]
    every = math.ceil((max(len(text) for both in labels for text in both) * LETTER + 6) / width)
    for place in range(0, len(groups), every):
        parts += _label(LEFT + width * (place + 0.5), *labels[place])
    return _figure(title, parts, x_label, HEIGHT, [(one.label, one.style) for one in bars])


class _Axis(NamedTuple):
    low: float
    high: float
    ticks: Sequence[float]

    def place(self, value: float, start: float, end: float) -> float:
        return start + (value - self.low) / (self.high - self.low) * (end - start)


def _axis(low: float, high: float, *, exact: bool = False) -> _Axis:
    """Give an axis with round ticks, which begins and ends with one unless `exact`."""
    if high <= low:
        low, high = low - 0.5, high + 0.5
    size = 10.0 ** math.floor(math.log10((high - low) / TICKS))
    step = next(size * each for each in STEPS if size * each * TICKS * 1.25 >= high - low)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [step * number for number in range(first, last + 1)]
    if exact:
        return _Axis(low, high, [tick for tick in ticks if low - 1e-9 <= tick <= high + 1e-9])
    return _Axis(ticks[0], ticks[-1], ticks)


def _x(axis: _Axis, value: float) -> float:
    return axis.place(value, LEFT, WIDTH - RIGHT)


def _y(axis: _Axis, value: float) -> float:
    return axis.place(value, HEIGHT - BOTTOM, TOP)


def _grid(axis: _Axis) -> Iterator[str]:
    for tick in axis.ticks:
        y = _number(_y(axis, tick))
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{LEFT - 6}" y="{y}" dy=".32em" text-anchor="end">{_tick(tick)}</text>'


def _under(axis: _Axis) -> Iterator[str]:
    for tick in axis.ticks:
        yield from _label(_x(axis, tick), _tick(tick))


def _label(x: float, *lines: str) -> Iterator[str]:
    for number, line in enumerate(lines):
        y = HEIGHT - BOTTOM + LINE * (number + 1)
        kind = ' class="count"' if number else ""
        yield f'<text{kind} x="{_number(x)}" y="{y}" text-anchor="middle">{escape(line)}</text>'


def _figure(
    title: str, parts: Sequence[str], x_label: str, height: int, legend: Sequence[tuple[str, str]]
) -> str:
    bottom = (
        f'<text x="{WIDTH - RIGHT}" y="{height - 4}" text-anchor="end">{escape(x_label)}</text>'
    )
    keys = (f'<span><i class="{style}"></i>{escape(label)}</span>' for label, style in legend)
    below = f'<div class="legend">{"".join(keys)}</div>' if len(legend) > 1 else ""
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}{bottom}</svg>{below}</figure>"
    )


def _tick(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{round(value, 9):.4g}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
