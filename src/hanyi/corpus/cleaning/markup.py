"""Entities and tags: undone where they are well formed, and a reason to reject where not."""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache
from html.entities import html5
from typing import ClassVar, Literal

import numpy as np

from hanyi.corpus.cleaning.blocks import Block, Mask, Side
from hanyi.corpus.cleaning.traits import Trait
from hanyi.params import config

_ENTITY = re.compile(
    r"&(amp;)?(#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});", re.ASCII
)

_BREAKING = (
    "blockquote|br|center|dd|div|dl|dt|h[1-6]|hr|li|ol|p|pre|table|tbody|td|tfoot|th|thead|tr|ul"
)
# HTML that shapes text, and the codes that translation files (TMX, XLIFF) put for markup. Names
# such as title, object or time are missing: manuals write <title> for "put a title here".
_INLINE = (
    "a|abbr|acronym|b|bdi|bdo|big|bpt|bx|cite|code|del|dfn|em|ept|ex|font|g|i|img|ins|it|kbd|mark"
    "|nobr|ph|q|s|samp|small|span|strike|strong|sub|sup|tt|u|var|wbr|x"
)
_ATTRIBUTE = r"\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+)"
_TAG = re.compile(
    rf"<!--[^<>]*-->|</?(?:(?P<breaking>{_BREAKING})|{_INLINE})"
    rf"(?:{_ATTRIBUTE})*\s*/?>",
    re.IGNORECASE,
)
# Whatever its name, this is a tag and no placeholder: it closes, or has a quoted attribute.
_OTHER_TAG = re.compile(r"</[A-Za-z][\w:.-]*>|<[A-Za-z][\w:.-]*\s[^<>]*=\s*[\"'][^<>]*>")


@config
class Entities:
    """Write the characters for HTML entities, also for those escaped twice (`&amp;quot;`).

    Names that HTML does not know and numbers of control characters stay. An entity for a line end
    or a tab becomes a space.
    """

    rule: Literal["entities"]

    def suspects(self, side: Side) -> Mask:
        """Find ampersands."""
        return side.has(Trait.AMPERSAND)

    def apply(self, text: str) -> str:
        """Write the characters."""
        return _ENTITY.sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    char = _character(match[2])
    if char is None:
        return match[0].replace("&amp;", "&", 1)
    return char


@lru_cache(maxsize=4096)
def _character(name: str) -> str | None:
    if not name.startswith("#") and f"{name};" not in html5:
        return None
    plain = html.unescape(f"&{name};")
    if plain.isspace():
        return plain if unicodedata.category(plain) != "Cc" else " "
    unsound = any(unicodedata.category(char) in {"Cc", "Cs", "Cn", "Co"} for char in plain)
    return None if not plain or unsound or "\ufffd" in plain else plain


@config
class Tags:
    """Strip tags that shape text: HTML such as `<b>`, inline codes of translation files, comments.

    Tags that break a line or begin a block leave a space. `a < b`, `<3` and `<name>` stay.
    """

    rule: Literal["tags"]

    def suspects(self, side: Side) -> Mask:
        """Find signs "less than"."""
        return side.has(Trait.LESS_THAN)

    def apply(self, text: str) -> str:
        """Strip the tags."""
        return _TAG.sub(lambda match: " " if match["breaking"] else "", text)


@config
class Markup:
    """Reject a pair in which entities or tags are left, whatever their names."""

    rule: Literal["markup"]
    spares_given: ClassVar[bool] = True

    def objects(self, block: Block) -> Mask:
        """Find entities, tags that shape text, closing tags, and tags with quoted attributes."""
        found = np.zeros(block.src.rows, np.bool_)
        for side in (block.src, block.tgt):
            rows = np.flatnonzero(side.has(Trait.AMPERSAND | Trait.LESS_THAN))
            found[rows] |= [_has_markup(text) for text in side.strings(rows)]
        return found


def _has_markup(text: str) -> bool:
    return (
        _TAG.search(text) is not None
        or _OTHER_TAG.search(text) is not None
        or any(
            match[2].startswith("#") or f"{match[2]};" in html5 for match in _ENTITY.finditer(text)
        )
    )
