"""`/docs`: what `/openapi.json` says, as a page without scripts, for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 52rem; padding: 1rem; }
h2 { border-top: 1px solid #8885; margin-top: 2.5rem; padding-top: 1.5rem; }
h2 code, td code { font-weight: 600; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border-bottom: 1px solid #8884; padding: .3rem .8rem .3rem 0; text-align: left;
  vertical-align: top; }
pre { background: #8882; border-radius: .4rem; overflow-x: auto; padding: .8rem; }
"""

Schema = Mapping[str, Any]


def reference_page(api: Schema) -> str:
    """Write the page of an OpenAPI description."""
    info = api["info"]
    operations = [
        _operation(api, method, path, operation)
        for path, methods in api["paths"].items()
        for method, operation in methods.items()
    ]
    title = f"{escape(info['title'])} {escape(info['version'])}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>"
        f'<p>{escape(info["description"])} For programs: <a href="openapi.json">openapi.json</a>.'
        f"</p>{''.join(operations)}</body></html>\n"
    )


def _operation(api: Schema, method: str, path: str, operation: Schema) -> str:
    text = "".join(f"<p>{_code(part)}</p>" for part in operation["description"].split("\n\n"))
    shown = f"<h2><code>{method.upper()} {escape(path)}</code></h2>{text}"
    if body := operation.get("requestBody"):
        content = body["content"]["application/json"]
        shown += f"<h3>Request</h3>{_fields(api, content['schema'])}"
        examples = content.get("examples", {}).values()
        shown += "".join(_example(path, example) for example in examples)
    for status, response in operation["responses"].items():
        schema = response.get("content", {}).get("application/json", {}).get("schema")
        if status == "200" and schema:
            shown += f"<h3>Answer</h3>{_fields(api, schema)}"
    rows = [
        (f"<code>{escape(status)}</code>", _code(response["description"]))
        for status, response in operation["responses"].items()
    ]
    return f"{shown}<h3>Statuses</h3>{_table(('status', 'meaning'), rows)}"


def _fields(api: Schema, schema: Schema, prefix: str = "") -> str:
    return _table(("field", "kind", "meaning"), _rows(api, schema, prefix))


def _rows(api: Schema, schema: Schema, prefix: str) -> list[tuple[str, ...]]:
    """Give a row for each field, those of objects inside of it below."""
    rows: list[tuple[str, ...]] = []
    schema = _resolve(api, schema)
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        default = f", {json.dumps(field['default'])}" if field.get("default") is not None else ""
        kind = _kind(api, field) + default
        meaning = field.get("description", "")
        rows.append((f"<code>{escape(path)}</code>", escape(kind), _code(meaning)))
        for choice in (field, *field.get("anyOf", ())):
            inside = choice.get("items", choice)
            if "$ref" in inside:
                dots = f"{path}[]." if "items" in choice else f"{path}."
                rows += _rows(api, inside, dots)
    return rows


def _resolve(api: Schema, schema: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    found: Schema = api["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _kind(api: Schema, field: Schema) -> str:
    if choices := field.get("anyOf"):
        kinds = [_kind(api, choice) for choice in choices if choice.get("type") != "null"]
        return " or ".join(kinds)
    if field.get("type") == "array":
        return f"list of {_kind(api, field['items'])}"
    return str(_resolve(api, field).get("type", "value"))


def _example(path: str, example: Schema) -> str:
    data = json.dumps(example["value"], ensure_ascii=False).replace("'", "'\\''")
    flag = "-N " if example["value"].get("stream") else ""
    command = f"curl {flag}http://127.0.0.1:8000{path} --json '{data}'"
    return f"<p>{escape(example['summary'])}:</p><pre>{escape(command)}</pre>"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    top = "".join(f"<th>{cell}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{lines}</table>"


def _code(text: str) -> str:
    """Show what stands between backticks as code."""
    parts = escape(text).split("`")
    return "".join(
        f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts)
    )
