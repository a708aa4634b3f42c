"""requirements.lock satisfies pyproject.toml, on CPU and GPU machines alike."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture(scope="module")
def lines(root: Path) -> list[str]:
    """Give the lock's lines without comments."""
    text = (root / "requirements.lock").read_text(encoding="utf-8")
    bare = [line.split(" #")[0].strip() for line in text.splitlines()]
    return [line for line in bare if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def pins(lines: list[str]) -> dict[str, list[Requirement]]:
    """Give the pins of each package: more than one where Python versions need different ones."""
    found: dict[str, list[Requirement]] = {}
    for line in lines:
        pin = Requirement(line)
        found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


def wanted(root: Path) -> Iterator[Requirement]:
    """Give what pyproject.toml asks for, the developer's tools included."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield from map(Requirement, project["dependencies"])
    yield from map(Requirement, project["optional-dependencies"]["dev"])


def pinned(pin: Requirement) -> Version:
    """Give the one version of a pin."""
    assert [rule.operator for rule in pin.specifier] == ["=="], f"{pin}: pin one version"
    return Version(next(iter(pin.specifier)).version)


def test_lock_satisfies_the_project(root: Path, pins: dict[str, list[Requirement]]) -> None:
    for requirement in wanted(root):
        found = pins.get(canonicalize_name(requirement.name), [])
        assert found, f"requirements.lock lacks {requirement}; run `make lock`"
        for pin in found:
            assert pinned(pin) in requirement.specifier, f"{pin} is not {requirement}; `make lock`"


def test_lock_pins_everything_once_for_each_python(pins: dict[str, list[Requirement]]) -> None:
    for name, found in pins.items():
        active = [pin for pin in found if pin.marker is None or pin.marker.evaluate()]
        assert len(active) <= 1, f"{name}: {active}"
        assert all(pinned(pin) for pin in found)


def test_lock_fits_cpu_and_gpu_machines(lines: list[str]) -> None:
    odd = [line for line in lines if re.match(r"(nvidia-|cuda-|triton)|.*(\+cpu|--hash|://)", line)]
    assert not odd, f"these lines tie the lock to one kind of machine: {odd}"
