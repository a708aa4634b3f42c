"""Plain values as YAML that means the same to readers of version 1.1 and of 1.2."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import SafeRepresenter

WIDEST = 1 << 16  # characters of a line: none is folded

# Where the versions differ: `no` and `on` are truth values in 1.1, and so is 1e-05 a text there.
BARE = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[a-z][\w./ -]*(?<! )", re.IGNORECASE)


class _Representer(SafeRepresenter):
    pass


def _text(representer: SafeRepresenter, value: str) -> ScalarNode:
    style = None if BARE.fullmatch(value) else '"'
    return representer.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _float(representer: SafeRepresenter, value: float) -> ScalarNode:
    text = repr(value) if math.isfinite(value) else f".{value}".replace(".-", "-.")
    digits, mark, exponent = text.partition("e")
    if mark and "." not in digits:
        text = f"{digits}.0e{exponent}"
    return representer.represent_scalar("tag:yaml.org,2002:float", text)


_Representer.add_representer(str, _text)
_Representer.add_representer(float, _float)


def plain_yaml(values: Mapping[str, Any]) -> str:
    """Write values in block style, keys in the order they come; equal values give equal text."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = _Representer
    yaml.default_flow_style = False
    yaml.allow_unicode = True
    yaml.width = WIDEST
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    text = io.StringIO()
    yaml.dump(dict(values), text)
    return text.getvalue()
