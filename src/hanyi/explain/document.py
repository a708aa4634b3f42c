"""The page: one document that needs nothing else, with or without the data of a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

SCRIPTS = (
    "dom.js",
    "texts.js",
    "attention.js",
    "steps.js",
    "tree.js",
    "encodings.js",
    "service.js",
    "main.js",
)
"""In the order in which they are read; together they are one function."""


def page(model: Mapping[str, Any], sentence: Mapping[str, Any] | None = None) -> str:
    """Give the page for a model as `describe` gives it.

    With a sentence as `explain` gives it, the page shows that one and asks for nothing; without, it
    is the page of a service, which it asks for each sentence that is typed.
    """
    return _frame().replace("<!--data-->", _embedded({"model": model, "sentence": sentence}))


@cache
def _frame() -> str:
    """Give the page without data; what it is made of stands in it."""
    script = "\n".join(_read(name) for name in SCRIPTS)
    return (
        _read("index.html")
        .replace("/*style*/", _read("page.css"))
        .replace("/*script*/", f'(() => {{\n"use strict";\n{script}}})();')
    )


def _read(name: str) -> str:
    return (files("hanyi.explain") / "page" / name).read_text(encoding="utf-8")


def compact(data: Mapping[str, Any]) -> str:
    """Write JSON in as few characters as it takes."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _embedded(data: Mapping[str, Any]) -> str:
    """Write JSON that no HTML can end: a text may hold `</script>`."""
    return compact(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
