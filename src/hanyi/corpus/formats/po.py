r"""gettext PO: messages and their translations. The whole file is in memory: such files are small.

An entry is a row. One with plural forms is two: `msgid` with the form for one thing, `msgid_plural`
with the last form, which in every language is the one for many. `line` is that of the entry without
its comments.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterator
from dataclasses import replace

import polib
import pyarrow as pa

from hanyi.corpus.formats.declared import HEAD_BYTES, declared_encoding
from hanyi.corpus.formats.inputs import AUTO, Input
from hanyi.corpus.formats.packing import open_bytes
from hanyi.corpus.formats.text import MARK, lines
from hanyi.corpus.tables import Row, row_blocks
from hanyi.errors import DataError
from hanyi.languages import side_of

REASONS = ("encoding", "obsolete", "fuzzy", "untranslated")
"""Faults of an entry, in the order in which they are looked for."""

MESSAGE, TRANSLATION = "msgid", "msgstr"

MESSAGE_LINES = 10_000
"""The longest message: polib copies all of it for each line more."""

_CHARSET = re.compile(rb"""Content-Type:[^"\n]*?charset=([A-Za-z0-9._:-]+)""", re.IGNORECASE)
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_KEYWORD = r"(?:(?:(msgid)|msgctxt|msgid_plural|msgstr)[ \t]+|msgstr\[\d\][ \t]*)"
_LINE = re.compile(rf"[ \t]*(?:#~[ \t]+)?{_KEYWORD}?{_QUOTED}[ \t]*")
_LINE_NUMBER = re.compile(r"line (\d+)\)")


class _Lines(list[str]):
    """The lines of a file, given to polib as if they were its text.

    polib would cut text at U+2028 and its like, and it has no way to go on after a broken byte.
    """

    def splitlines(self) -> list[str]:
        """Give the lines."""
        return self


def inspect(file: Input) -> Input:
    """Find the encoding, and which side of the pair the messages are.

    The translation's language is that of the header; the message has the other, unless
    `src_column` and `tgt_column` name them (`msgid`, `msgstr`). Raises `DataError` with the line.
    """
    if file.reading.encoding == AUTO:
        with open_bytes(file.path, file.name) as raw:
            encoding = declared_encoding(raw.read(HEAD_BYTES), _CHARSET, file.name)
        file = replace(file, reading=replace(file.reading, encoding=encoding))
    entries = _parsed(file)
    if not entries:
        raise DataError(file.name, "no entries", "a PO file with messages", "give another file")
    if {file.reading.src_column, file.reading.tgt_column} == {MESSAGE, TRANSLATION}:
        return file
    code = entries.metadata.get("Language", "")
    side = side_of(file.languages, re.split(r"[.@]", code)[0])
    if side is None:
        code = code[:40].replace(MARK, "\ufffd")
        found = f"Language: {code}" if code else "no Language"
        raise DataError(
            file.name, f"{found} in the header", f"{file.languages.src} or {file.languages.tgt}",
            f"set {file.section}.src_column and .tgt_column to {MESSAGE} and {TRANSLATION}, in the"
            " order that is right",
        )  # fmt: skip
    src, tgt = (TRANSLATION, MESSAGE) if side == "src" else (MESSAGE, TRANSLATION)
    return replace(file, reading=replace(file.reading, src_column=src, tgt_column=tgt))


def read(file: Input) -> Iterator[pa.RecordBatch]:
    """Give the rows of each entry but the header: lines joined, escapes resolved."""
    yield from row_blocks(_rows(file))


def _rows(file: Input) -> Iterator[Row]:
    entries = _parsed(file)
    form = _form_of_one(entries.metadata.get("Plural-Forms", ""))
    for entry in entries:
        for message, translation in _pairs(entry, form):
            src, tgt = message, translation
            if file.reading.src_column == TRANSLATION:
                src, tgt = tgt, src
            fault = _fault(entry, message, translation)
            if fault:
                text = "\t".join(filter(None, (src, tgt))).replace(MARK, "\ufffd")
                yield Row(max(entry.linenum, 1), text, "", fault)
            else:
                yield Row(max(entry.linenum, 1), src, tgt, None)


def _pairs(entry: polib.POEntry, form_of_one: int) -> Iterator[tuple[str, str]]:
    if not entry.msgid_plural and not entry.msgstr_plural:
        yield entry.msgid, entry.msgstr
        return
    forms = entry.msgstr_plural or {0: entry.msgstr}
    yield entry.msgid, forms.get(form_of_one, forms[min(forms)])
    yield entry.msgid_plural, forms[max(forms)]


def _form_of_one(header: str) -> int:
    """Give the number of the plural form for one thing: 0 in most languages, 1 in Arabic."""
    rule = re.search(r"plural\s*=\s*([^;]+)", header)
    try:
        return int(gettext.c2py(rule[1])(1)) if rule else 0
    except (ValueError, ZeroDivisionError, RecursionError):
        return 0


def _fault(entry: polib.POEntry, message: str, translation: str) -> str | None:
    if MARK in message or MARK in translation:
        return "encoding"
    if entry.obsolete:
        return "obsolete"
    if entry.fuzzy:
        return "fuzzy"
    return None if translation else "untranslated"


def _parsed(file: Input) -> polib.POFile:
    """Parse the file; raise `DataError` with the line for all that polib would pass over."""
    text, messages, begun = _Lines(), 0, 0
    for number, line in enumerate(lines(file.path, file.reading.encoding, file.name), start=1):
        stripped = line.strip(" \t")
        flags = stripped.startswith("#,") and len(stripped.split()) > 1
        if flags or not stripped or (stripped[0] == "#" and stripped[:3] not in {"#~ ", "#~\t"}):
            # polib can lose an entry at other comments, and they are no part of a row.
            text.append(stripped if flags else "")
            continue
        found = _LINE.fullmatch(line)
        if not found:
            raise _broken(file, number, f"{line[:40]!r}".replace(MARK, "\ufffd"))
        messages += found[1] is not None
        begun = begun if stripped.lstrip("#~ \t").startswith('"') else number
        if number - begun > MESSAGE_LINES:
            raise _broken(file, begun, f"a message of more than {MESSAGE_LINES:,} lines")
        text.append(stripped)
    try:
        entries = polib.pofile(text, encoding="utf-8")  # they are text already
    except OSError as error:
        line_number = _LINE_NUMBER.search(str(error))
        number = int(line_number[1]) if line_number else 1
        raise _broken(file, number, f"{text[number - 1][:40]!r} at a wrong place") from None
    if len(entries) + (1 if entries.metadata else 0) != messages:
        raise _broken(file, 1, f"{messages} msgid, not each with a msgstr")
    return entries


def _broken(file: Input, number: int, found: str) -> DataError:
    return DataError(
        f"{file.name}:{number}", found, "gettext PO",
        f"mend the file (msgfmt --check tells more), or set {file.section}.format",
    )  # fmt: skip
