"""Text that names its own encoding, as XML and gettext do."""

from __future__ import annotations

import codecs
import re

from hanyi.corpus.formats.text import known_encoding
from hanyi.errors import DataError

HEAD_BYTES = 1 << 16

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\0", "utf-16-le"),  # no mark, but XML begins so
    (b"\0<", "utf-16-be"),
)


def declared_encoding(head: bytes, pattern: re.Pattern[bytes], where: str) -> str:
    """Give the encoding of a file from its first bytes: its mark, what it names, or UTF-8.

    `pattern` has one group, the name. Raises `DataError` for one that is not known.
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    found = pattern.search(head)
    name = found[1].decode("ascii") if found else "utf-8"
    if name.lower().startswith(("utf-16", "utf16", "ucs-2")) or name == "CHARSET":
        # What names itself in ASCII is no UTF-16, whatever it says; CHARSET is gettext's blank.
        return "utf-8"
    if name.lower() in {"ascii", "us-ascii"}:
        return "utf-8"  # which takes all of it
    try:
        return known_encoding(name)
    except ValueError:
        raise DataError(
            where,
            f"text that says it is {name[:40]}",
            "a known encoding",
            "convert the file to UTF-8",
        ) from None
