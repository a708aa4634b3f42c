"""When two sentences count as the same for the guarantee that none crosses a split."""

from __future__ import annotations

import hashlib
import unicodedata

KEY_BYTES = 16


class _Folded(dict[int, str | None]):
    """Translation table of characters to what is compared of them, filled as they are met."""

    def __missing__(self, code: int) -> str | None:
        plain = unicodedata.normalize("NFKC", chr(code)).casefold()
        kept = "".join(char for char in plain if unicodedata.category(char)[0] not in "PZC")
        self[code] = kept or None
        return self[code]


_FOLDED = _Folded()


def fold(text: str) -> str:
    """Reduce a sentence to what is compared: no case, width, punctuation or white space.

    A sentence of nothing but punctuation is compared as it is.
    """
    return text.translate(_FOLDED) or text


def sentence_key(text: str) -> bytes:
    """Give the 128-bit key of a sentence, equal for sentences that count as the same."""
    return hashlib.blake2b(fold(text).encode("utf-8"), digest_size=KEY_BYTES).digest()
