"""TMX, the exchange format of translation memories: one row for each unit, streamed.

Of several texts in a language the first is taken, and how many units have more is logged: pairing
them in order would join translations that were never made of each other.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple
from xml.parsers import expat

import pyarrow as pa

from hanyi.corpus.formats.declared import HEAD_BYTES, declared_encoding
from hanyi.corpus.formats.encodings import guess_encoding
from hanyi.corpus.formats.inputs import AUTO, Input
from hanyi.corpus.formats.named import listed
from hanyi.corpus.formats.packing import open_bytes
from hanyi.corpus.formats.text import byte_order
from hanyi.corpus.tables import Row, row_blocks
from hanyi.errors import DataError
from hanyi.languages import Languages, side_of

log = logging.getLogger("hanyi.corpus")

REASONS = ("language", "encoding")
"""Faults of a unit: a side is missing; bytes or characters that XML cannot hold."""

SAMPLE_UNITS = 1000
CHUNK_CHARS = 1 << 16
TAG_CHARS = 1 << 22
"""The longest tag or comment, which Expat begins anew with every piece of the file."""


_DECLARED = re.compile(rb"""\A<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)""")
_CODES = frozenset(("bpt", "ept", "ph", "it", "ut"))
"""Elements that hold the markup of another format, and not the sentence."""

_PLACE = {"tu": None, "tuv": "tu", "seg": "tuv"}
"""Elements that make a unit, and the one of them that each must be in."""

_BROKEN = "\ufdd0"
"""Stands for what XML cannot hold, so that it spoils its own unit only; no text has it."""

_FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9A-Fa-f]{1,20})|([0-9]{1,20}));")
_REFERENCE_CHARS = 24


class Unit(NamedTuple):
    """The texts of a `<tu>`, each with its language code; `line` is that of its start tag."""

    line: int
    texts: list[tuple[str, str]]


def inspect(file: Input) -> Input:
    """Find the encoding; check that the first units have both languages.

    Raises `DataError` that names the codes that are there, and for anything that is no TMX.
    """
    if file.reading.encoding == AUTO:
        with open_bytes(file.path, file.name) as raw:
            encoding = declared_encoding(raw.read(HEAD_BYTES), _DECLARED, file.name)
        file = replace(file, reading=replace(file.reading, encoding=encoding))
    sample = list(islice(_units(file), SAMPLE_UNITS))
    if not sample:
        raise DataError(file.name, "no <tu>", "a TMX file with units", "give another file")
    rows = [_row(unit, file.languages)[0] for unit in sample]
    faults = [row.fault for row in rows]
    if set(faults) == {"language"}:
        src, tgt = file.languages.src, file.languages.tgt
        codes = sorted({code for unit in sample for code, _ in unit.texts})
        raise DataError(
            f"{file.name}:{sample[0].line}", f"units in {listed(codes)}",
            f"{src} and {tgt} in one unit", "set languages.src and languages.tgt",
        )  # fmt: skip
    if 2 * faults.count("encoding") > len(faults):
        _check_encoding(file, rows[faults.index("encoding")].line)
    return file


def read(file: Input) -> Iterator[pa.RecordBatch]:
    """Give a row for each unit.

    The text of `<hi>` is kept, codes (`<bpt>`, `<ept>`, `<ph>`, `<it>`, `<ut>`) are dropped with
    all that is in them, `<sub>` too: a footnote is no part of its sentence. Raises `DataError` with
    the line for broken XML, and for entity declarations, which can fill any memory.
    """
    yield from row_blocks(_rows(file))


def _check_encoding(file: Input, line: int) -> None:
    """Refuse bytes of another encoding; control characters are faults of their units alone."""
    with open_bytes(file.path, file.name) as raw:
        head = raw.read(HEAD_BYTES)
    guess = guess_encoding(head)
    if guess != file.reading.encoding and not head.isascii():
        raise DataError(
            f"{file.name}:{line}", f"bytes that are no {file.reading.encoding} in most units",
            "text", f"set {file.section}.encoding to {guess or 'that of the file'}, or convert it",
        )  # fmt: skip


def _rows(file: Input) -> Iterator[Row]:
    doubled = 0
    for unit in _units(file):
        row, more = _row(unit, file.languages)
        doubled += more
        yield row
    if doubled:
        log.warning(
            "%s: %d units have more than one text in a language; the first was taken",
            file.name, doubled,
        )  # fmt: skip


def _row(unit: Unit, languages: Languages) -> tuple[Row, bool]:
    """Choose the sides of a unit; tell whether there was a choice."""
    src = tgt = None
    more = False
    for code, text in unit.texts:
        side = side_of(languages, code)
        if side == "src":
            more = more or src is not None
            src = text if src is None else src
        elif side == "tgt":
            more = more or tgt is not None
            tgt = text if tgt is None else tgt
    if src is not None and tgt is not None:
        if _BROKEN not in src and _BROKEN not in tgt:
            return Row(unit.line, src, tgt, None), more
        text, fault = f"{src}\t{tgt}", "encoding"
    else:
        text, fault = "\t".join(text for _, text in unit.texts), "language"
    return Row(unit.line, text.replace(_BROKEN, "\ufffd"), "", fault), more


def _units(file: Input) -> Iterator[Unit]:
    """Parse the file, a piece at a time; nothing of a unit stays once it is given."""
    parser = _Parser(file.name)
    encoding = file.reading.encoding
    if encoding == "utf-16":  # Python would insist on the mark
        encoding = byte_order(file.path, file.name)
    with open_bytes(file.path, file.name) as raw:
        text = io.TextIOWrapper(raw, encoding=encoding, errors="hanyi.mark", newline="")
        for piece in _pieces(text):
            yield from parser.feed(piece)
        yield from parser.feed("", last=True)


def _pieces(text: io.TextIOWrapper) -> Iterator[str]:
    """Cut text into pieces, never within a character reference, without what XML cannot hold."""
    rest = text.read(1).removeprefix("\ufeff")
    while piece := text.read(CHUNK_CHARS):
        piece = rest + piece
        cut = piece.find("&", max(len(piece) - _REFERENCE_CHARS, 0))
        cut = len(piece) if cut < 0 else cut
        rest = piece[cut:]
        yield _without_forbidden(piece[:cut])
    yield _without_forbidden(rest)


def _without_forbidden(piece: str) -> str:
    piece = _FORBIDDEN.sub(_BROKEN, piece)
    return _REFERENCE.sub(_referred, piece) if "&#" in piece else piece


def _referred(reference: re.Match[str]) -> str:
    code = int(reference[1], 16) if reference[1] else int(reference[2])
    known = code <= 0x10FFFF and not _FORBIDDEN.match(chr(code))
    return reference[0] if known else _BROKEN


class _Parser:
    """Expat with the handlers that gather units."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._place: str | None = None
        self._units: list[Unit] = []
        self._texts: list[tuple[str, str]] = []
        self._text: list[str] = []
        self._code = ""
        self._empty = True
        self._line = 0
        self._hidden = 0
        self._at = self._waiting = 0
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        if hasattr(self._expat, "SetReparseDeferralEnabled"):
            # Expat 2.6 waits for more of a long tag, and does not tell how far it has come.
            self._expat.SetReparseDeferralEnabled(False)
        # So that an entity that nothing declares, such as &nbsp;, is reported instead of fatal.
        self._expat.UseForeignDTD(True)
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.EntityDeclHandler = self._refuse_entity
        self._expat.SkippedEntityHandler = self._keep_entity

    def feed(self, piece: str, *, last: bool = False) -> list[Unit]:
        """Parse a piece of the text; give the units that end in it."""
        try:
            self._expat.Parse(piece, last)
        except expat.ExpatError as error:
            raise DataError(
                f"{self._name}:{error.lineno}", f"broken XML ({expat.ErrorString(error.code)})",
                "a whole TMX file", "mend that line, or get the file again",
            ) from None  # fmt: skip
        at = self._expat.CurrentByteIndex
        self._waiting = self._waiting + len(piece) if at == self._at else 0
        self._at = at
        if self._waiting > TAG_CHARS:
            raise DataError(
                f"{self._name}:{self._expat.CurrentLineNumber}", "a tag or comment without end",
                f"one of at most {TAG_CHARS:,} characters", "mend the file",
            )  # fmt: skip
        units, self._units = self._units, []
        return units

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in _PLACE:
            if self._place != _PLACE[tag]:
                raise self._misplaced(tag)
            self._place = tag
            if tag == "seg":
                self._text, self._hidden = [], 0
                self._expat.CharacterDataHandler = self._text.append
            elif tag == "tuv":
                self._code = attributes.get("xml:lang") or attributes.get("lang", "")
                self._empty = True
            else:
                self._line, self._texts = self._expat.CurrentLineNumber, []
        elif self._place == "seg" and tag in _CODES:
            self._hidden += 1
            self._expat.CharacterDataHandler = None

    def _end(self, tag: str) -> None:
        if tag in _PLACE:
            self._place = _PLACE[tag]
            if tag == "seg":
                self._expat.CharacterDataHandler = None
                self._texts.append((self._code, "".join(self._text)))
                self._empty = False
            elif tag == "tu":
                self._units.append(Unit(self._line, self._texts))
            elif self._empty:
                self._texts.append((self._code, ""))
        elif self._place == "seg" and tag in _CODES:
            self._hidden -= 1
            if not self._hidden:
                self._expat.CharacterDataHandler = self._text.append

    def _misplaced(self, tag: str) -> DataError:
        found = f"<{tag}> in {f'<{self._place}>' if self._place else 'no unit'}"
        return DataError(
            f"{self._name}:{self._expat.CurrentLineNumber}", found,
            "<seg> in <tuv> in <tu>", "mend the file",
        )  # fmt: skip

    def _keep_entity(self, name: str, is_parameter: bool) -> None:
        if self._place == "seg" and not self._hidden and not is_parameter:
            self._text.append(f"&{name};")

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise DataError(
            f"{self._name}:{self._expat.CurrentLineNumber}", f"a declaration of entity {name[:40]}",
            "TMX, which has none", "resolve the entities and take the DOCTYPE away",
        )  # fmt: skip
