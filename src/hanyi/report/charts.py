"""Charts as inline SVG, which take their colours from the page, light or dark."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 360, 210  # units of the drawing, about pixels on a phone
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 10, 34  # of them around what is drawn
TICKS = 4  # about so many steps of an axis
STEPS = (1, 2, 2.5, 5, 10)
GROUP = 0.8  # share of the width of a group that its bars fill
LETTER = 6.2  # width of a character
DOTTED = 20  # points of a line that get a dot each, at most
GAP = 12  # beside a label of the axis


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
    return _figure(title, parts, x_label, [(one.label, one.style) for one in drawn])


def columns(
    title: str, groups: Sequence[str], bars: Sequence[Bars], x_label: str, highest: float | None
) -> str:
    """Draw bars side by side for each group; `highest` ends the axis."""
    values = [value for one in bars for value in one.values if value is not None]
    if not values:
        return ""
    up = _axis(0, highest or max(values))
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
    middles = [LEFT + width * (place + 0.5) for place in range(len(groups))]
    parts += _labels(zip(middles, groups, strict=True), every=_spacing(groups, width))
    return _figure(title, parts, x_label, [(one.label, one.style) for one in bars])


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
    yield from _labels(((_x(axis, tick), _tick(tick)) for tick in axis.ticks), every=1)


def _labels(places: Iterator[tuple[float, str]], every: int) -> Iterator[str]:
    for number, (x, label) in enumerate(places):
        if number % every == 0:
            yield (
                f'<text x="{_number(x)}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">'
                f"{escape(label)}</text>"
            )


def _spacing(labels: Sequence[str], width: float) -> int:
    """Give which part of the labels fits: every one, every second, ..."""
    return math.ceil((max(map(len, labels)) * LETTER + GAP / 2) / width)


def _figure(
    title: str, parts: Sequence[str], x_label: str, legend: Sequence[tuple[str, str]]
) -> str:
    bottom = (
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">{escape(x_label)}</text>'
    )
    keys = "".join(
        f'<span><i class="{style}"></i>{escape(label)}</span>' for label, style in legend
    )
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}{bottom}</svg>"
        f'<div class="legend">{keys}</div></figure>'
    )


def _tick(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{round(value, 9):.4g}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
