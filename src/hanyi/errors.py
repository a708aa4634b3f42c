"""The one shape of every error that a user can mend: where, found, expected, what to do."""

from __future__ import annotations

EXIT_FAULT = 2
"""Exit code of a stage or command that tells such an error."""


class HanyiError(Exception):
    """A fault outside the code, told in one line.

    `where` names a file with its line, a parameter with its dotted path, or an artifact; `found`
    and `expected` say what was there and what should be; `remedy` tells what to do. A stage prints
    the line and exits with 2; anything else that escapes is a bug and keeps its traceback.
    """

    def __init__(self, where: object, found: str, expected: str, remedy: str) -> None:
        text = f"{where}: {found}, expected {expected}; {remedy}"
        super().__init__(" ".join(text.split()))


class ParamsError(HanyiError):
    """A parameter that is unknown, of a wrong type or out of range."""


class DataError(HanyiError):
    """An input file or row that cannot be understood."""


class ArtifactError(HanyiError):
    """An output of a stage that is missing, stale, mixed, broken or cannot be written."""


class LostProcessError(HanyiError):
    """Another process of the same piece of work is gone, or does not answer."""
