"""Words as the analysis counts them, and how often each occurs in the sentences of training."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set as AbstractSet
from pathlib import Path

from hanyi.tokens.prepared import read_blocks

# Letters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, Han, kana.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Marks inside words, which Python does not take for letters: accents, points, Indian vowels.
MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0980-\u0dff"
_LETTERS = rf"[^\W_{UNSPACED}]"
WORD = re.compile(rf"{_LETTERS}+(?:(?:[{MARKS}]+|['’](?={_LETTERS})){_LETTERS}*)*|[{UNSPACED}]")
"""A run of letters and digits, apostrophes inside it included; each unspaced letter is a word."""


def words(text: str) -> list[str]:
    """Give the words of a text, in lower case."""
    return WORD.findall(text.casefold())


def occurrences(path: Path, wanted: AbstractSet[str]) -> Counter[str]:
    """Count how often each of the wanted words occurs in the targets of a prepared split.

    Only what is wanted is kept, so that memory does not grow with the vocabulary. Raises
    `HanyiError` when the split is not there or none.
    """
    found: Counter[str] = Counter()
    for block in read_blocks(path, ["tgt"]):
        text = "\n".join(block.column(0).to_pylist())
        found.update(filter(wanted.__contains__, words(text)))
    return found
