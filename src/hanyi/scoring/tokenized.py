"""References that went through a tokenizer: a score against them is comparable with no other.

Each sign is looked for in the rows of one corpus that could show it, since a single careless space
is nothing rare in text that people wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hanyi.errors import DataError
from hanyi.languages import language
from hanyi.scoring.pairing import Pair, by_corpus

SHARE = 0.3  # of the rows that could show a sign, and of the neighbours that a space parts
LEAST = 2  # rows
SHOWN = 60  # characters of the example

_HAN = r"[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"


class Sign(NamedTuple):
    """What tokenizers leave behind: where it could be, and where it is."""

    name: str
    possible: re.Pattern[str]
    found: re.Pattern[str]
    never: frozenset[str] = frozenset()  # languages that are written so


SIGNS = (
    Sign("a space before , or .", re.compile(r"\w ?[,.](?=\s|$)"), re.compile(r"\w [,.](?=\s|$)")),
    Sign(
        "a space before ?",
        re.compile(r"\w ?\?(?=\s|$)"),
        re.compile(r"\w \?(?=\s|$)"),
        frozenset({"fr", "br"}),
    ),
    Sign(
        "a space inside don't and we'll",
        re.compile(r"\w ?(?:n['’]t|['’](?:ll|re|ve))\b"),
        re.compile(r"\w (?:n['’]t|['’](?:ll|re|ve))\b"),
    ),
    Sign("spaces between characters", re.compile(rf"{_HAN}\s*{_HAN}"), re.compile("")),
    Sign("pieces of words (@@ ▁ ##)", re.compile(""), re.compile(r"\w@@(?=\s|$)|▁|(?<=\s)##\w")),
    Sign("escapes (&apos; @-@)", re.compile(""), re.compile(r"&(?:apos|quot|#9[13]);|\s@[-,.]@\s")),
)
_NEIGHBOURS = re.compile(rf"(?<={_HAN})(\s*)(?={_HAN})")


def require_plain(pairs: Sequence[Pair], target: str, where: Path) -> None:
    """Raise `DataError` when the references of a corpus look tokenized; `target` is BCP 47."""
    for corpus, group in by_corpus(pairs).items():
        for sign in SIGNS:
            if language(target) not in sign.never:
                _check(sign, corpus, group, where)


def _check(sign: Sign, corpus: str, group: Sequence[Pair], where: Path) -> None:
    possible = [pair for pair in group if sign.possible.search(pair.reference)]
    found = [pair for pair in possible if shows(pair.reference, sign)]
    if len(found) < max(LEAST, SHARE * len(possible)):
        return
    example = found[0].reference
    example = example if len(example) <= SHOWN else example[:SHOWN] + "..."
    raise DataError(
        where,
        f"{len(found)} of {len(possible)} references of {corpus} look tokenized: {sign.name} "
        f"(id {found[0].id}: {example!r})",
        "the text as people write it",
        "give references that no tokenizer changed, or set score.tokenized_references to true",
    )


def shows(text: str, sign: Sign) -> bool:
    """Tell whether a sign is in a text."""
    if not sign.possible.search(text):
        return False
    if sign.found.pattern:
        return sign.found.search(text) is not None
    gaps = [bool(gap) for gap in _NEIGHBOURS.findall(text)]
    return sum(gaps) >= SHARE * len(gaps)
