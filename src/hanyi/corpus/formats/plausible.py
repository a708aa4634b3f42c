"""Whether what was read can be sentence pairs of the two languages: checks of every text format."""

from __future__ import annotations

from collections.abc import Iterable

from hanyi.corpus.formats.inputs import Input
from hanyi.corpus.formats.packing import open_bytes
from hanyi.corpus.formats.scripts import OTHER, scripts_in
from hanyi.errors import DataError
from hanyi.languages import scripts

HEAD_BYTES = 1 << 16


def check_line_ends(file: Input) -> None:
    r"""Raise `DataError` for a file whose lines end with \r alone, as they did on old Macs."""
    for path, name in zip(file.paths, file.names, strict=True):
        with open_bytes(path, name) as opened:
            text = opened.read(HEAD_BYTES).decode(file.reading.encoding, "ignore")
        if "\n" not in text and "\r" in text[:-1]:
            raise DataError(
                f"{name}:1", r"lines that end with \r alone", r"\n or \r\n",
                r"convert the file, such as with `tr '\r' '\n'`",
            )  # fmt: skip


def check_sides(file: Input, rows: Iterable[tuple[int, str, str]], what: str, remedy: str) -> None:
    """Raise `DataError` when most rows (line, source, target) have each language on the other side.

    Languages that share a script, or whose script is not known, cannot be told apart so.
    """
    src, tgt = (set(scripts(code)) for code in (file.languages.src, file.languages.tgt))
    if src & tgt or OTHER in src | tgt:
        return
    rows = list(rows)
    swapped = [row for row in rows if _is(row[1], tgt, src) and _is(row[2], src, tgt)]
    if 2 * len(swapped) > len(rows):
        line, first, second = swapped[0]
        raise DataError(
            f"{file.name}:{line}",
            f"the {what} look swapped (source {first[:30]!r}, target {second[:30]!r})",
            f"{file.languages.src} as source and {file.languages.tgt} as target", remedy,
        )  # fmt: skip


def _is(text: str, wanted: set[str], other: set[str]) -> bool:
    found = scripts_in(text)
    return sum(found[name] for name in wanted) > sum(found[name] for name in other)
