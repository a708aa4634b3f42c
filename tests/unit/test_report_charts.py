"""Charts: well formed, in scale, and whatever stands in labels is text."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from hanyi.report.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Bars,
    Series,
    columns,
    lines,
)

ODD = '<b> & "quoted" 汉'


def drawn(markup: str) -> ET.Element:
    """Parse a chart, which is well-formed XML too."""
    return ET.fromstring(markup)


def axis(figure: ET.Element, anchor: str) -> list[tuple[float, float]]:
    """Give the place and the value of each tick, the vertical ones by `end`."""
    found = []
    for text in figure.iter("text"):
        label = (text.text or "").replace(",", "")
        if text.get("text-anchor") == anchor and re.fullmatch(r"-?[\d.e-]+", label):
            found.append((float(text.get("y" if anchor == "end" else "x", "")), float(label)))
    return found


def test_points_lie_where_the_ticks_say() -> None:
    points = [(400.0, 4.98), (800.0, 2.83), (2400.0, 1.67)]
    figure = drawn(lines("Loss", [Series("train", points, "now")], "updates", mark=800))
    (low_x, low), *_, (high_x, high) = axis(figure, "middle")
    (low_y, least), *_, (high_y, most) = axis(figure, "end")
    circles = [
        (float(one.get("cx", "")), float(one.get("cy", ""))) for one in figure.iter("circle")
    ]
    for (x, y), (value, height) in zip(circles, points, strict=True):
        assert x == pytest.approx(low_x + (value - low) / (high - low) * (high_x - low_x), abs=0.2)
        assert y == pytest.approx(
            low_y + (height - least) / (most - least) * (high_y - low_y), abs=0.2
        )
        assert LEFT <= x <= WIDTH - RIGHT
        assert TOP <= y <= HEIGHT - BOTTOM
    [mark] = [one for one in figure.iter("line") if one.get("class") == "mark"]
    assert float(mark.get("x1", "")) == circles[1][0]


@pytest.mark.parametrize(
    "points",
    [
        [(1.0, 2.0)],
        [(1.0, 0.0), (2.0, 0.0)],
        [(1.0, 1e-7), (5e6, 2.5e-3)],
        [(0.0, -3.0), (1.0, 4e9)],
    ],
)
def test_any_range_is_drawn(points: list[tuple[float, float]]) -> None:
    figure = drawn(lines("t", [Series("a", points, "now")], "x", from_zero=True, mark=None))
    assert len(axis(figure, "end")) >= 2
    ticks = [value for _, value in axis(figure, "end")]
    assert ticks == sorted(set(ticks))


def test_nothing_gives_nothing() -> None:
    assert not lines("t", [Series("a", [], "now")], "x", mark=None)
    assert not columns("t", [], [Bars("a", [], "now")], "x", counts=[], highest=100)


def test_bars_are_as_high_as_their_values() -> None:
    bars = [Bars("baseline", [10, None, 40], "before"), Bars("now", [20, 30, 100], "now")]
    figure = drawn(
        columns("chrF", ["0", "1-4", "5+"], bars, "words", counts=[7, 8, 9000], highest=100)
    )
    whole = HEIGHT - BOTTOM - TOP
    heights = [round(100 * float(one.get("height", "")) / whole) for one in figure.iter("rect")]
    assert heights == [10, 40, 20, 30, 100]
    places = [float(one.get("x", "")) for one in figure.iter("rect")]
    assert places[0] < places[2] < places[3] < places[1] < places[4]
    counts = [one.text for one in figure.iter("text") if one.get("class") == "count"]
    assert counts == ["7", "8", "9,000"]


def test_labels_are_text() -> None:
    figure = drawn(lines(ODD, [Series(ODD, [(1, 2)], "now")], ODD, mark=None))
    assert figure.find("figcaption").text == ODD  # type: ignore[union-attr]
    figure = drawn(columns(ODD, [ODD], [Bars(ODD, [1.0], "now")], ODD, counts=[1], highest=2))
    assert {one.text for one in figure.iter("text")} >= {ODD}
