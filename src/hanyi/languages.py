"""The languages of a pair: codes that mean the same, and the scripts that they are written in."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import langcodes
from langcodes.tag_parser import LanguageTagError

from hanyi.params import config

_JOINED = {
    "Hans": ("Han",),
    "Hant": ("Han",),
    "Hani": ("Han",),
    "Jpan": ("Han", "Hiragana", "Katakana"),
    "Kore": ("Hangul", "Han"),
    "Latn": ("Latin",),
    "Cyrl": ("Cyrillic",),
    "Grek": ("Greek",),
    "Arab": ("Arabic",),
    "Hebr": ("Hebrew",),
    "Deva": ("Devanagari",),
    "Thai": ("Thai",),
}
"""ISO 15924 codes in the names of `characters`; a script that is not there is "Other"."""


@config
class Languages:
    """The `languages` section: BCP 47 codes such as zh, zh-TW, en."""

    src: str
    tgt: str

    def __post_init__(self) -> None:
        """Check that the codes are codes."""
        for side, code in (("src", self.src), ("tgt", self.tgt)):
            if not langcodes.tag_is_valid(code):
                raise ValueError(f"{side} must be a language code such as zh or en, got {code!r}")
        if matches(self.src, self.tgt) and matches(self.tgt, self.src):
            raise ValueError(f"src and tgt must differ, got {self.src} and {self.tgt}")


def matches(wanted: str, found: str) -> bool:
    """Tell whether a code found in a file is of the wanted language: zh takes zho, cmn and zh-CN.

    What `wanted` leaves open (script, territory) may be anything; what it names must be there.
    """
    try:
        asked, given = _parsed(wanted), _parsed(found)
    except LanguageTagError:
        return False
    return asked.language == given.language and all(
        one in {None, other}
        for one, other in ((asked.script, given.script), (asked.territory, given.territory))
    )


@lru_cache(maxsize=4096)
def side_of(languages: Languages, code: str) -> Literal["src", "tgt"] | None:
    """Tell which side of the pair a code found in a file belongs to, None for neither.

    Where both take it, as zh and zh-TW take zh-TW, it belongs to the one that asks for more.
    """
    src, tgt = matches(languages.src, code), matches(languages.tgt, code)
    if src and tgt:
        return "tgt" if matches(languages.src, languages.tgt) else "src"
    return "src" if src else "tgt" if tgt else None


def scripts(code: str) -> tuple[str, ...]:
    """Give the scripts that a language is written in, most of them by its one usual script."""
    return _JOINED.get(str(_parsed(code).maximize().script), ("Other",))


def language(code: str) -> str:
    """Give the language of a code alone: zh for cmn, zho and zh-TW."""
    return str(_parsed(code).language)


def _parsed(code: str) -> langcodes.Language:
    return langcodes.Language.get(langcodes.standardize_tag(code.replace("_", "-"), macro=True))
