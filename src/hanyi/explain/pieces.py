"""Tokens as a reader can take them in, also those that are some bytes of a character."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.vocab import SPECIALS

LONGEST = 8
"""Tokens of a run that spells characters together, at most; UTF-8 has 4 bytes for each."""

LOST = "\ufffd"


def pieces(tokenizer: Tokenizer, ids: Sequence[int]) -> list[dict[str, Any]]:
    r"""Give the id and the text of each token, `▁` for a space.

    A token that ends inside a character shows what it spells together with those around it, with
    its number and their count as `part`: `药` in two tokens is `药` 1 of 2 and `药` 2 of 2. Bytes
    that spell no character stay `\xe6`.
    """
    found: list[dict[str, Any]] = []
    while len(found) < len(ids):
        start = len(found)
        count = _run(tokenizer, ids[start : start + LONGEST])
        run = [int(number) for number in ids[start : start + count]]
        if count == 1:
            found.append({"id": run[0], "text": tokenizer.tokens(run)[0]})
            continue
        text = tokenizer.decode(run).replace(" ", "▁")
        found += [
            {"id": number, "text": text, "part": [place, count]}
            for place, number in enumerate(run, start=1)
        ]
    return found


def _run(tokenizer: Tokenizer, ids: Sequence[int]) -> int:
    """Give how many of the next tokens spell whole characters together; 1 if none do."""
    for count in range(1, len(ids) + 1):
        if ids[count - 1] < len(SPECIALS):
            return 1
        # A text may hold the sign for a lost character, which is spelled by three bytes then.
        spelled = "".join(tokenizer.tokens(ids[:count])).count(LOST)
        if tokenizer.decode(ids[:count]).count(LOST) <= spelled:
            return count
    return 1
