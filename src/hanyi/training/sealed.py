"""Small JSON files that hold a digest of themselves, so that one changed byte is found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hanyi.artifacts import digest_bytes, write_text
from hanyi.errors import ArtifactError

SEAL = "seal"


def plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Give values as they come back from JSON: tuples are lists, unknown types their text."""
    values: dict[str, Any] = json.loads(_text(fields))
    return values


def write_sealed(path: Path, kind: str, version: int, fields: Mapping[str, Any]) -> None:
    """Publish fields with their kind, version and seal; numbers keep all of their digits."""
    values = {**fields, "kind": kind, "version": version}
    write_text(path, _sealed(values))


def read_sealed(path: Path, kind: str, version: int) -> dict[str, Any]:
    """Give the fields of a file.

    Raises `ArtifactError` unless every byte is as it was written, and of this kind and version;
    `PermissionError` where reading is not allowed, which says nothing about the bytes.
    """
    remedy = "remove it"
    try:
        text = path.read_bytes().decode("utf-8")
        values = json.loads(text)
        del values[SEAL]
        whole = text == _sealed(values)
    except PermissionError:
        raise
    except FileNotFoundError:
        raise ArtifactError(path, "no such file", f"a {kind} description", remedy) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise ArtifactError(path, "broken", f"a {kind} description", remedy)
    found = (values.pop("kind", None), values.pop("version", None))
    if found != (kind, version):
        expected = f"{kind} version {version}"
        raise ArtifactError(path, f"{found[0]} version {found[1]}", expected, remedy)
    return dict(values)


def _sealed(values: Mapping[str, Any]) -> str:
    return _text({**values, SEAL: digest_bytes(_text(values).encode("utf-8"))})


def _text(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, indent=1, sort_keys=True, default=str) + "\n"
