"""params.yaml, the config dataclasses and dvc.yaml tell the same story."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from hanyi.errors import ParamsError
from hanyi.params import SECTIONS, load_section, parse, read_params

ROOT = Path(__file__).resolve().parents[2]
# Sections of no single stage: `languages` (of several), `model` (train), `check` (the gate).
EXTRA_SECTIONS = ("languages", "model", "check")
PRESETS = sorted(path.name for path in (ROOT / "presets").glob("*.yaml"))


def test_sections_are_the_stages(wiring: dict[str, Any], params: dict[str, Any]) -> None:
    assert set(params) == set(wiring) | set(EXTRA_SECTIONS)


def test_sections_stand_in_the_order_of_the_stages(
    wiring: dict[str, Any], params: dict[str, Any]
) -> None:
    assert [section for section in params if section not in EXTRA_SECTIONS] == list(wiring)


def test_each_stage_watches_the_sections_it_loads(
    wiring: dict[str, Any], loads: dict[str, dict[str, str]]
) -> None:
    for stage, entry in wiring.items():
        loaded = sorted(loads.get(stage, {}))
        assert sorted(entry["params"]) == loaded, (
            f"dvc.yaml: stage {stage} loads other sections than it watches; paste\n"
            f"    params: [{', '.join(loaded)}]"
        )


def test_every_section_is_loaded(params: dict[str, Any], loads: dict[str, dict[str, str]]) -> None:
    loaded = {section for sections in loads.values() for section in sections}
    assert set(params) == {section for section in loaded if "." not in section}


def test_values_that_are_loaded_alone_are_there(
    root: Path, loads: dict[str, dict[str, str]]
) -> None:
    alone = [name for sections in loads.values() for name in sections if "." in name]
    assert alone
    for name in alone:
        load_section(name, object, root / "params.yaml")


def test_known_sections_stand_in_their_order(params: dict[str, Any]) -> None:
    assert tuple(params) == SECTIONS


def configs(loads: dict[str, dict[str, str]]) -> Iterator[tuple[str, Any]]:
    """Give each section with each class that a stage reads it into."""
    for script, sections in loads.items():
        module = importlib.import_module(f"stages.{script}")
        for section, kind in sections.items():
            if "." not in section:  # a single value has no keys
                yield section, getattr(module, kind)


def test_every_section_fits_its_config(root: Path, loads: dict[str, dict[str, str]]) -> None:
    for section, kind in configs(loads):
        load_section(section, kind, root / "params.yaml")


def test_no_config_takes_an_unknown_key(
    params: dict[str, Any], loads: dict[str, dict[str, str]]
) -> None:
    for section, kind in configs(loads):
        for path in _mappings(load_section(section, kind, ROOT / "params.yaml")):
            values = _plain(params[section])
            inner = values
            for key in path:
                inner = inner[key]
            inner["typo"] = 1
            with pytest.raises(ParamsError, match=r"\.".join([section, *path, "typo"])):
                parse(section, kind, values)


def test_no_config_has_defaults(params: dict[str, Any], loads: dict[str, dict[str, str]]) -> None:
    for section, kind in configs(loads):
        for key in params[section]:
            values = _plain(params[section])
            del values[key]
            with pytest.raises(ParamsError, match=rf"{section}\.{key}"):
                parse(section, kind, values)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_fit_too(loads: dict[str, dict[str, str]], preset: str) -> None:
    base, changed = read_params(ROOT / "params.yaml"), read_params(ROOT / "presets" / preset)
    assert set(changed) <= set(base), "a preset names a section that params.yaml lacks"
    merged = _merge(base, changed)
    for section, kind in configs(loads):
        parse(section, kind, merged[section], where=preset)


def test_every_key_is_explained(root: Path, loads: dict[str, dict[str, str]]) -> None:
    """A key has a comment on its line or above it; the entries of an open mapping need none."""
    text = (root / "params.yaml").read_text(encoding="utf-8")
    tree = YAML().load(text)
    lines = text.splitlines()
    classes = dict(configs(loads))
    unexplained = []
    for section, values in tree.items():
        config = load_section(section, classes[section], root / "params.yaml")
        for path, line in _key_lines(values, config):
            above = lines[line - 1].lstrip()
            if "#" not in lines[line] and not above.startswith("#"):
                unexplained.append(f"{section}.{path} (line {line + 1})")
    assert not unexplained, f"params.yaml: no comment says what these are: {', '.join(unexplained)}"


def _key_lines(values: CommentedMap, config: Any, prefix: str = "") -> Iterator[tuple[str, int]]:
    for key, value in values.items():
        inner = getattr(config, key)
        if is_dataclass(inner):
            yield from _key_lines(value, inner, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", values.lc.key(key)[0]


def _mappings(config: Any) -> Iterator[list[str]]:
    """Give the path of each config inside a config, itself (the empty path) first."""
    yield []
    for name in config.__dataclass_fields__:
        inner = getattr(config, name)
        if is_dataclass(inner):
            for path in _mappings(inner):
                yield [name, *path]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _merge(base: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merge(merged[key], value) if both else value
    return merged
