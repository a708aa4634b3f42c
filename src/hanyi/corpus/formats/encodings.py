"""Which encoding a file seems to have: a hint for messages, never a silent choice."""

from __future__ import annotations

import codecs
from pathlib import Path

from hanyi.corpus.formats.text import open_bytes
from hanyi.errors import DataError

HEAD_BYTES = 1 << 16
NUL_SHARE = 0.02
"""UTF-16 of Latin letters is half NUL bytes, of Chinese a few (its tabs); other text has none."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def guess_encoding(head: bytes) -> str | None:
    """Guess from the first bytes of a file; None for plain ASCII and for what fits nothing."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if head.count(0) > NUL_SHARE * len(head):
        return "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"
    if head.isascii():
        return None
    return next((name for name in ("utf-8", "gb18030", "big5") if _decodes(head, name)), None)


def check_encoding(path: Path, encoding: str, key: str) -> None:
    """Raise `DataError` when the first bytes can only be of another Unicode encoding.

    GB18030 and its like can be told apart by their errors alone, so they are left to the caller.
    """
    guess = guess_of(path)
    if guess is None and encoding.startswith("utf-16"):
        guess = "utf-8"  # plain ASCII, or nothing, which no reader minds
    if guess and guess.startswith("utf") and guess[:5] != encoding[:5]:
        raise DataError(f"{path}:1", f"{guess} text", encoding, f"set {key}: {guess}")


def guess_of(path: Path) -> str | None:
    """Guess the encoding of a file from its beginning."""
    with open_bytes(path) as file:
        return guess_encoding(file.read(HEAD_BYTES))


def _decodes(head: bytes, name: str) -> bool:
    try:
        codecs.getincrementaldecoder(name)("strict").decode(head, final=len(head) < HEAD_BYTES)
    except UnicodeDecodeError:
        return False
    return True
