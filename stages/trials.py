"""The trials of a sweep: what is varied, the values they take, their names."""

from __future__ import annotations

import copy
import difflib
import json
import math
import re
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from hanyi.errors import ParamsError
from hanyi.params import PARAMS_FILE, flatten

RANGE = re.compile(r"\s*(?P<low>\S+?)\.\.(?P<high>\S+)(?P<log>\s+log)?\s*")
DIGITS = 3  # of a drawn value, which also stands in the trial's name
TRIES = 200  # draws for each trial that is wanted, before there are too few different ones
ADDED = "+"  # before a name: a key that params.yaml leaves out, as in `dvc exp run -S +name=value`
SWEEP = "python -m stages.sweep"

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Choices:
    """Values that were listed."""

    values: Sequence[Any]

    def at(self, share: float) -> Any:
        """Give the value at a share of the axis, 0 <= share < 1."""
        return self.values[int(share * len(self.values))]


@dataclass(frozen=True, slots=True)
class Range:
    """All numbers from `low` to `high`, drawn evenly, or evenly in their logarithm."""

    low: float
    high: float
    log: bool

    @property
    def whole(self) -> bool:
        """Tell whether only whole numbers are meant."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def values(self) -> Sequence[Any]:
        """List the whole numbers, for a grid; empty for a range of others."""
        return range(int(self.low), int(self.high) + 1) if self.whole and not self.log else ()

    def at(self, share: float) -> float:
        """Give the value at a share of the axis, 0 <= share < 1, rounded to `DIGITS` digits."""
        low, high = self.low, self.high + self.whole  # each whole number has an equal part
        if self.log:
            exact = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        else:
            exact = low + share * (high - low)
        value = math.floor(exact) if self.whole else float(f"{exact:.{DIGITS}g}")
        return min(max(value, self.low), self.high)


class Axis(NamedTuple):
    """A parameter by its dotted name, and the values that it may take."""

    name: str
    kind: Choices | Range


class Trial(NamedTuple):
    """One combination of values, and the name of its experiment."""

    name: str
    values: Values


def parse_axis(text: str) -> Axis:
    """Read `name=A,B,C` or `name=LOW..HIGH`, which ` log` may follow; values are YAML 1.2."""
    name, equals, values = text.partition("=")
    if not (name.strip() and equals and values.strip()):
        raise _fault(text, "not name=values", "such as model.layers=1,2,3")
    if (found := RANGE.fullmatch(values)) and (limits := _limits(found)):
        low, high = limits
        log = found["log"] is not None
        if not (math.isfinite(low) and math.isfinite(high) and low < high and (low > 0 or not log)):
            raise _fault(text, f"from {low} to {high}", "two rising numbers, over 0 for log")
        return Axis(name.strip(), Range(low, high, log))
    return Axis(name.strip(), Choices(_listed(text, values)))


def grid(axes: Sequence[Axis]) -> list[Trial]:
    """Give each combination of the values, the last axis varying fastest."""
    for name, kind in axes:
        if not kind.values:
            raise _fault(name, "a range", "values to choose from", "list some, or take --random N")
    names = [axis.name for axis in axes]
    points = product(*(axis.kind.values for axis in axes))
    return _named([dict(zip(names, point, strict=True)) for point in points])


def draw(axes: Sequence[Axis], count: int, seed: int) -> list[Trial]:
    """Draw so many different combinations.

    A draw depends on the seed, its number and the name of its axis alone, so that a longer search
    begins with the trials of a shorter one.
    """
    drawn: dict[str, dict[str, Any]] = {}
    for number in range(TRIES * count):
        values = {
            axis.name: axis.kind.at(Random(f"{seed}/{number}/{axis.name}").random())
            for axis in axes
        }
        drawn.setdefault(json.dumps(values, sort_keys=True), values)
        if len(drawn) == count:
            return _named(list(drawn.values()))
    few = f"{len(drawn)} different combinations"
    raise _fault("--random", few, f"the {count} that are wanted", "leave it out for the grid")


def changed(params: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """Give the parameters with other values; raise `ParamsError` for a name that is not there."""
    made = copy.deepcopy(dict(params))
    for name, value in values.items():
        *path, last = name.removeprefix(ADDED).split(".")
        inner: Any = made
        for key in path:
            inner = _inside(inner, key)
        if isinstance(inner, MutableMapping) and (last in inner or name.startswith(ADDED)):
            inner[last] = value
        elif isinstance(inner, list) and _inside(inner, last) is not None:
            inner[int(last)] = value
        else:
            near = difflib.get_close_matches(name, flatten(params), n=3, cutoff=0.4)
            known = ", ".join(near) or f"a name of {PARAMS_FILE}"
            raise _fault(name, "no such parameter", known, "mend the name")
    return made


def override(name: str, value: Any) -> str:
    """Write a value as `dvc exp run -S` reads it."""
    return f"{name}={_hydra(value)}"


def _inside(values: Any, key: str) -> Any:
    if isinstance(values, list):
        return values[int(key)] if key.isdecimal() and int(key) < len(values) else None
    return values.get(key) if isinstance(values, Mapping) else None


def _hydra(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_hydra, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):  # only before a quotation mark Hydra takes a backslash for a sign
        quoted = re.sub(r'(\\*)"', r'\1\1\\"', value)
        return '"' + re.sub(r"(\\+)$", r"\1\1", quoted) + '"'
    return json.dumps(value, ensure_ascii=False)


def _limits(found: re.Match[str]) -> tuple[float, float] | None:
    low, high = _yaml(found["low"]), _yaml(found["high"])
    numbers = (isinstance(one, int | float) and not isinstance(one, bool) for one in (low, high))
    return (low, high) if all(numbers) else None


def _listed(text: str, values: str) -> list[Any]:
    listed = _yaml(f"[{values}]")
    if not isinstance(listed, list) or any(isinstance(one, Mapping) for one in listed):
        expected = "values parted by commas, lists in brackets"
        raise _fault(text, "values that cannot be read", expected)
    if len({json.dumps(one) for one in listed}) < len(listed):
        raise _fault(text, "a value twice", "each once")
    return listed


def _yaml(text: str) -> Any:
    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError:
        return None


def _named(points: Sequence[Values]) -> list[Trial]:
    labels = _labels(list(points[0]))
    names = ["-".join(f"{labels[key]}{_shown(one)}" for key, one in it.items()) for it in points]
    if len(set(names)) < len(names):
        raise _fault(SWEEP, "two trials of one name", "other values", "leave one of them out")
    return [Trial(name, values) for name, values in zip(names, points, strict=True)]


def _labels(names: Sequence[str]) -> dict[str, str]:
    """Give short words for parameters: `layers`, and `lr` of `learning_rate`; never one twice."""
    labels = {}
    for name in names:
        last = name.rpartition(".")[2]
        words = last.split("_")
        initials = len(words) > 1 and all(len(word) > 1 for word in words)
        labels[name] = "".join(word[0] for word in words) if initials else last
    short = list(labels.values())
    return {
        name: label if short.count(label) == 1 else name.removeprefix(ADDED)
        for name, label in labels.items()
    }


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    # What git allows in the name of a branch.
    return re.sub(r"\.\.+|[^\w.+-]+", "_", text).strip("._")


def _fault(where: str, found: str, expected: str, remedy: str = "mend it") -> ParamsError:
    return ParamsError(where, found, expected, remedy)
