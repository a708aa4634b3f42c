"""Entities and tags: undone where they are well formed, and a reason to reject where not."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from html.entities import html5
from typing import ClassVar, Literal

from hanyi.corpus.cleaning.blocks import Block, Mask, Side
from hanyi.corpus.cleaning.traits import Trait
from hanyi.params import config

_ENTITY = re.compile(
    r"&(amp;)?(#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});", re.ASCII
)

# Tags that only shape letters, of HTML and of translation files (TMX, XLIFF), and those that stand
# alone. Subtitles and texts cut into sentences have halves of them.
_SHAPING = "b|big|bpt|br|bx|center|em|ept|ex|font|g|hr|i|ph|small|span|strike|strong|sub|sup|tt|u|x"
# Tags that manuals also speak about ("the <table> element"), so they must come in pairs. Names such
# as title, object or time are missing: manuals write <title> for "put a title here".
_PAIRED = (
    "a|abbr|acronym|bdi|bdo|blockquote|cite|code|dd|del|dfn|div|dl|dt|h[1-6]|ins|it|kbd|li|mark"
    "|nobr|ol|p|pre|q|s|samp|table|tbody|td|tfoot|th|thead|tr|ul|var"
)
_BREAKING = re.compile(
    "blockquote|br|center|d[dlt]|div|h[1-6]|hr|li|ol|p|pre|table|tbody|td|tfoot|th|thead|tr|ul"
)
_ATTRIBUTE = r"\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+)"
_TAG = re.compile(
    rf"<(?P<end>/?)(?:(?P<shaping>{_SHAPING})|(?P<paired>{_PAIRED}))"
    rf"(?:{_ATTRIBUTE})*\s*/?>",
    re.IGNORECASE,
)
# A text about tags: "<ul> or </ul>", "(<br>)".
_SPOKEN_OF = re.compile(
    r">\s*(?:and|or|to|[和或与及至到]|\.{3}|…+|[,、])\s*</|[\"'(（“‘「`]</?\w+ ?/?>[\"')）”’」`]"
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
    """Strip tags that shape text: HTML such as `<b>`, inline codes of translation files.

    Tags that break a line or begin a block leave a space. `a < b`, `<3` and `<name>` stay, and so
    do the tags of a text that speaks of tags: a `<table>` without `</table>`, a `(<br>)`.
    """

    rule: Literal["tags"]

    def suspects(self, side: Side) -> Mask:
        """Find signs "less than"."""
        return side.has(Trait.LESS_THAN)

    def apply(self, text: str) -> str:
        """Strip the tags, unless the text is about them."""
        if _SPOKEN_OF.search(text):
            return text
        tags = [match for match in _TAG.finditer(text) if match["paired"]]
        opened = {match["paired"].lower() for match in tags if not match["end"]}
        closed = {match["paired"].lower() for match in tags if match["end"]}

        def stripped(match: re.Match[str]) -> str:
            name = (match["shaping"] or match["paired"] or "").lower()
            if match["paired"] and name not in opened & closed:
                return match[0]
            return " " if _BREAKING.fullmatch(name) else ""

        return _TAG.sub(stripped, text)


@config
class Markup:
    """Reject a pair in which entities or tags are left that the other side does not have alike.

    Markup that both sides have is what the text is about, or a placeholder.
    """

    rule: Literal["markup"]
    spares_given: ClassVar[bool] = True

    def objects(self, block: Block) -> Mask:
        """Compare entities, tags that shape text, closing tags, and tags with quoted attributes."""
        traits = Trait.AMPERSAND | Trait.LESS_THAN
        suspects = block.src.has(traits) | block.tgt.has(traits)
        return block.confirmed(suspects, lambda src, tgt: markup(src) != markup(tgt))


def markup(text: str) -> Counter[str]:
    """Count the entities and tags of a text."""
    found = [match[0] for match in _TAG.finditer(text)]
    found += [match[0] for match in _OTHER_TAG.finditer(text) if not _TAG.fullmatch(match[0])]
    found += [
        match[0]
        for match in _ENTITY.finditer(text)
        if match[2].startswith("#") or f"{match[2]};" in html5
    ]
    return Counter(found)
