"""Normalisation of sentences, and the filters: small functions, each with the reason it gives."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import partial

from hanyi.params import at_least, config, one_of

UNICODE_FORMS: dict[str, Callable[[str], str]] = {
    "NFC": partial(unicodedata.normalize, "NFC"),
    "NFKC": partial(unicodedata.normalize, "NFKC"),
    "none": str,
}


@config
class SplitConfig:
    """Rows to split off from each corpus that has no file for them."""

    valid: int
    test: int
    seed: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        at_least("valid", self.valid, 0)
        at_least("test", self.test, 0)


@config
class PrepareConfig:
    """How rows are normalised, filtered and split."""

    unicode: str
    max_chars: int
    length_ratio: tuple[float, float]
    split: SplitConfig

    def __post_init__(self) -> None:
        """Check choices and ranges."""
        one_of("unicode", self.unicode, UNICODE_FORMS)
        at_least("max_chars", self.max_chars, 1)
        least, most = self.length_ratio
        if not 0 <= least <= most:
            raise ValueError(
                f"length_ratio must be [least, most], both from 0, got {least}, {most}"
            )


def normaliser(form: str) -> Callable[[str], str]:
    """Give the function that normalises a sentence of either side, references included.

    It changes two things and nothing else: characters into the Unicode form (unless "none"), and
    each run of white space into one space, none at the ends. White space is what Unicode calls so
    (space, tab, U+000A to U+000D, U+0085, no-break U+00A0 and U+202F, U+1680, U+2000 to U+200A,
    U+2028, U+2029, U+205F, ideographic U+3000) and the separators U+001C to U+001F; zero-width
    characters are not.
    """
    normal = UNICODE_FORMS[form]
    # In this order: NFKC turns some characters (U+00A8) into ones that begin with a space.
    return lambda text: " ".join(normal(text).split())


Filter = Callable[[str, str], bool]
"""Tells whether a pair is to be rejected."""


def empty(src: str, tgt: str) -> bool:
    """Reject a pair with an empty side."""
    return not src or not tgt


def over_long(src: str, tgt: str, *, max_chars: int) -> bool:
    """Reject a pair with more than `max_chars` characters on a side."""
    return len(src) > max_chars or len(tgt) > max_chars


def length_ratio(src: str, tgt: str, *, least: float, most: float) -> bool:
    """Reject a pair with too few or too many target characters for each source character."""
    return not least * len(src) <= len(tgt) <= most * len(src)


def identical(src: str, tgt: str) -> bool:
    """Reject a pair whose sides are the same: nothing was translated."""
    return src == tgt


FILTERS: dict[str, Callable[[PrepareConfig], Filter]] = {
    "empty": lambda _: empty,
    "over_long": lambda config: partial(over_long, max_chars=config.max_chars),
    "length_ratio": lambda config: partial(
        length_ratio, least=config.length_ratio[0], most=config.length_ratio[1]
    ),
    "identical": lambda _: identical,
}
"""Reason and maker of each filter, in the order in which they are tried: the first counts."""
