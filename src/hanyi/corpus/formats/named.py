"""Columns and keys that are found by their names, where the user has set none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hanyi.languages import Languages, side_of

NESTED = "translation."
"""Where Hugging Face's data sets keep both sides, by language code."""

_PAIRS = (("src", "tgt"), ("source", "target"))


def find_pair(names: Sequence[str], languages: Languages) -> tuple[str, str] | None:
    """Give the names of the source and the target, None where none fit or too many do.

    Names may be dotted paths. Those that are language codes come first, below `translation` or
    at the top; then `src` and `tgt`, `source` and `target`.
    """
    nested = {name.removeprefix(NESTED): name for name in names if name.startswith(NESTED)}
    for known in (nested, {name: name for name in names}):
        src, tgt = (_by_code(known, languages, side) for side in ("src", "tgt"))
        if src and tgt:
            return src, tgt
    return next((pair for pair in _PAIRS if set(pair) <= set(names)), None)


def _by_code(names: Mapping[str, str], languages: Languages, side: str) -> str | None:
    """Give the one name that is a code of this side; the code itself goes before its kin."""
    wanted = getattr(languages, side)
    fitting = [name for code, name in names.items() if side_of(languages, code) == side]
    return names.get(wanted) or (fitting[0] if len(fitting) == 1 else None)


def listed(names: Sequence[str], most: int = 12) -> str:
    """Name columns in a message, the first few of many."""
    shown = ", ".join(name if len(name) <= 40 else f"{name[:40]}…" for name in names[:most])
    shown = shown.encode("utf-8", "replace").decode()  # JSON's escapes can make what is no text
    return f"{shown}, …" if len(names) > most else shown or "none"
