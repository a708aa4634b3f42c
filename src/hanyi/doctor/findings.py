"""What the doctor says of one thing: a mark and a sentence in two languages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

LANGUAGES = ("en", "zh")


class Mark(Enum):
    """How something stands."""

    GOOD = "✓"
    NOTE = "!"
    FAULT = "✗"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report; texts of the system and figures stand in both languages."""

    mark: Mark
    en: str
    zh: str

    def text(self, language: str) -> str:
        """Give the sentence in one of `LANGUAGES`."""
        return self.zh if language == "zh" else self.en


def good(en: str, zh: str) -> Finding:
    """Say that something is as it should be."""
    return Finding(Mark.GOOD, en, zh)


def note(en: str, zh: str) -> Finding:
    """Say what a person may want to know, though it stops nothing."""
    return Finding(Mark.NOTE, en, zh)


def fault(en: str, zh: str) -> Finding:
    """Say what has to be mended."""
    return Finding(Mark.FAULT, en, zh)


def shown(error: Exception) -> str:
    """Give the words of an error as one line."""
    return " ".join(str(error).split()) or type(error).__name__
