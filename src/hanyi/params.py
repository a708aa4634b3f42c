"""Strict reading of `params.yaml`: YAML 1.2, unknown keys refused, all faults reported together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from typing_extensions import dataclass_transform

from hanyi.errors import HanyiError, ParamsError

PARAMS_FILE = Path("params.yaml")
SECTIONS = (
    "languages",
    "fetch",
    "prepare",
    "tokenizers",
    "encode",
    "model",
    "train",
    "decode",
    "score",
    "check",
)
"""All that params.yaml may hold; a misspelt section would otherwise go unread."""
KEY_FAULTS = {"missing": "missing", "unexpected_keyword_argument": "unknown key"}

Section = TypeVar("Section")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def config(kind: type[Section]) -> type[Section]:
    """Make a config dataclass: frozen, by keyword, closed to unknown keys, without defaults.

    Ranges are checked in its `__post_init__`, which raises `ValueError` with what was expected.
    """
    made = dataclass(frozen=True, kw_only=True, slots=True)(kind)
    made.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    return made


def at_least(name: str, value: float, least: int) -> None:
    """Raise `ValueError` for a number under `least`; NaN is none, so it is refused too."""
    if not value >= least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def one_of(name: str, value: str, choices: Iterable[str]) -> None:
    """Raise `ValueError`, which lists the choices, for a value that is none of them."""
    if value not in (known := tuple(choices)):
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value}")


def read_params(path: Path = PARAMS_FILE) -> dict[str, Any]:
    """Read the whole parameter file as plain Python values.

    PyYAML would read DVC's `1e-05` as a string and `no` as False, so YAML 1.2 rules are used.
    """
    try:
        loaded = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParamsError(
            path, "no such file", "a parameter file", "run from the project's root"
        ) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise ParamsError(where, str(error.problem), "valid YAML 1.2", "mend the line") from None
    except (UnicodeDecodeError, YAMLError) as error:
        raise ParamsError(path, str(error), "YAML 1.2 in UTF-8", "mend the file") from None
    if not isinstance(loaded, dict):
        found = type(loaded).__name__
        raise ParamsError(path, found, "a mapping of sections", "restore it from git")
    return loaded


def load_section(section: str, kind: type[Section], path: Path = PARAMS_FILE) -> Section:
    """Read one section into its config dataclass, or one value by its dotted path.

    Raises `ParamsError` that lists every fault of the section with its dotted path, and for a
    section that nothing reads.
    """
    values: Any = read_params(path)
    if unknown := [name for name in values if name not in SECTIONS]:
        found = f"unknown section {', '.join(map(str, unknown))}"
        raise ParamsError(path, found, f"{', '.join(SECTIONS)}", "rename or remove it")
    for key in section.split("."):
        if not isinstance(values, Mapping) or key not in values:
            names = ", ".join(map(str, values)) if isinstance(values, Mapping) else "nothing"
            raise ParamsError(f"{path}: {section}", f"no {key} among {names}", "it", "add it")
        values = values[key]
    return parse(section, kind, values, where=str(path))


def parse(section: str, kind: type[Section], values: object, where: str = "params.yaml") -> Section:
    """Validate plain values against a config dataclass; the dataclass checks ranges itself."""
    try:
        # JSON's strict mode is the wanted one: "4" and true are no integers, 4 is a fine float, a
        # list may stand for a tuple, which strict Python mode refuses.
        return TypeAdapter(kind).validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as error:
        faults = "; ".join(_fault(section, fault, values) for fault in error.errors())
        raise ParamsError(
            where, faults, "the keys and types of the comments there", "mend or remove them"
        ) from None


def _fault(section: str, fault: Any, values: object) -> str:
    path = ".".join([section, *_keys(fault, values)])
    context = fault.get("ctx", {})
    if isinstance(cause := context.get("error"), HanyiError | ValueError):
        return f"{path}: {cause}"
    if fault["type"] in KEY_FAULTS:
        return f"{path}: {KEY_FAULTS[fault['type']]}"
    if "discriminator" in context:  # an entry of a list that says what it is by one of its keys
        key = context["discriminator"].strip("'")
        if "tag" not in context:
            return f"{path}.{key}: missing"
        known = context["expected_tags"].replace("'", "")
        return f"{path}.{key}: must be one of {known}, got {context['tag']}"
    message = fault["msg"][0].lower() + fault["msg"][1:]
    return f"{path}: {message}, got {fault['input']!r}"


def _keys(fault: Any, values: object) -> list[str]:
    """Give the path of a fault without the names of kinds, which pydantic puts between the keys."""
    keys = []
    for place, part in enumerate(fault["loc"]):
        last = place == len(fault["loc"]) - 1
        if isinstance(values, Mapping):
            if part not in values and not (last and fault["type"] in KEY_FAULTS):
                continue
            values = values.get(part)
        elif isinstance(values, list) and isinstance(part, int):
            values = values[part] if part < len(values) else None
        else:
            continue
        keys.append(str(part))
    return keys


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Turn nested sections into dotted names: `{"model": {"heads": 4}}` gives `model.heads`.

    An empty mapping is a value.
    """
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
