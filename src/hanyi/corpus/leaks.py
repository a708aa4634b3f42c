"""When two sentences count as the same for the guarantee that none crosses a split."""

from __future__ import annotations

import hashlib
import unicodedata

KEY_BYTES = 16


class _Letters(dict[int, int | None]):
    """Translation table that drops punctuation, white space and control characters."""

    def __missing__(self, code: int) -> int | None:
        kept = None if unicodedata.category(chr(code))[0] in "PZC" else code
        self[code] = kept
        return kept


_LETTERS = _Letters()


def fold(text: str) -> str:
    """Reduce a sentence to what is compared: no case, punctuation or white space, in NFKC.

    A sentence of nothing but punctuation is compared as it is.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return plain.translate(_LETTERS) or plain


def sentence_key(text: str) -> bytes:
    """Give the 128-bit key of a sentence, equal for sentences that count as the same."""
    return hashlib.blake2b(fold(text).encode("utf-8"), digest_size=KEY_BYTES).digest()
