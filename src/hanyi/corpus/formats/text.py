"""Text files as blocks of UTF-8 lines, whatever the packing and the encoding."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hanyi.corpus.formats.packing import open_bytes
from hanyi.errors import DataError

ENCODINGS = (
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "gbk", "big5", "big5hkscs", "cp950",
    "shift_jis", "cp932", "euc_jp", "euc_kr", "cp949", "iso8859-1", "iso8859-15", "cp1250",
    "cp1251", "cp1252", "cp1253", "cp1254", "cp1256", "koi8-r", "tis-620",
)  # fmt: skip
"""Encodings in which no character has the byte of a newline in it: a line can be cut out first."""

MARK = "\udc80"
"""Stands where bytes could not be decoded; a lone surrogate, which no encoding above can yield."""

BLOCK_BYTES = 1 << 23
LINE_BYTES = 1 << 27
"""The longest line: offsets of Arrow strings have 31 bits, and a zip bomb must end."""

_UNITS = {"utf-16-le": "<u2", "utf-16-be": ">u2"}


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return MARK, error.end


codecs.register_error("hanyi.mark", _mark)


def decodes(line: bytes, encoding: str = "utf-8") -> bool:
    """Tell whether a line is text in an encoding."""
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def known_encoding(name: str) -> str:
    """Give the one of `ENCODINGS` that a name means; raise `ValueError` for any other."""
    try:
        found = codecs.lookup(name).name
    except LookupError:
        found = ""
    found = {"gb2312": "gb18030", "utf-8-sig": "utf-8"}.get(found, found)
    if found not in ENCODINGS:
        raise ValueError(f"encoding must be auto or one of {', '.join(ENCODINGS)}, got {name}")
    return found


def blocks(
    path: Path, encoding: str, name: str | None = None, size: int | None = None
) -> Iterator[bytes]:
    r"""Yield a file as UTF-8 in blocks of about `size` bytes (8 MiB) that end with a newline.

    The last one may lack it. A byte-order mark is left out. Bytes that cannot be decoded stay what
    no UTF-8 decoder takes (those of other encodings become \x80), so that the caller finds them.
    """
    encoding = known_encoding(encoding)
    if encoding == "utf-16":
        encoding = byte_order(path, name)
    first = True
    for block in _whole_lines(path, encoding, name, size or BLOCK_BYTES):
        text = block if encoding == "utf-8" else _transcoded(block, encoding)
        if first:
            first = False
            text = text.removeprefix(codecs.BOM_UTF8)
        if text:
            yield text


def lines(path: Path, encoding: str, name: str | None = None) -> Iterator[str]:
    r"""Yield the lines of a file without their ends, which are \n or \r\n and nothing else.

    A byte-order mark is left out. Bytes that cannot be decoded become `MARK`.
    """
    for block in blocks(path, encoding, name):
        yield from decoded_lines(block)


def decoded_lines(block: bytes) -> list[str]:
    """Split one of `blocks` into lines; undecodable bytes become `MARK`."""
    found = block.decode("utf-8", "hanyi.mark").split("\n")
    if not found[-1]:
        found.pop()
    return [line.removesuffix("\r") for line in found]


def _whole_lines(path: Path, encoding: str, name: str | None, size: int) -> Iterator[bytes]:
    """Yield blocks that end with a line; a line is searched once, however long it is."""
    parts: list[bytes] = []
    held = 0
    with open_bytes(path, name) as file:
        while chunk := file.read(size + size % 2):  # a multiple of the units of UTF-16
            ends = _line_ends(chunk, encoding, last=True)
            end = ends[-1] if ends else 0
            if end:
                yield b"".join([*parts, chunk[:end]])
                parts, held = [], 0
            if end < len(chunk):
                parts.append(chunk[end:])
                held += len(chunk) - end
            if held > LINE_BYTES:
                raise DataError(
                    name or path, f"a line of more than {LINE_BYTES >> 20} MiB", "lines of text",
                    "see whether the file is what its name says",
                )  # fmt: skip
    if parts:
        yield b"".join(parts)


def _line_ends(block: bytes, encoding: str, *, last: bool = False) -> list[int]:
    """Give where each line ends, or only where the last one does; a newline is of its line."""
    if encoding not in _UNITS:
        if last:
            return [block.rfind(b"\n") + 1]
        return [found.end() for found in re.finditer(rb"\n", block)]
    units = np.frombuffer(block, _UNITS[encoding], len(block) // 2)
    ends = 2 * np.flatnonzero(units == ord("\n")) + 2
    return [int(end) for end in (ends[-1:] if last else ends)]


def _transcoded(block: bytes, encoding: str) -> bytes:
    try:
        return block.decode(encoding).encode("utf-8")
    except UnicodeDecodeError:
        ends = _line_ends(block, encoding)
    if not ends or ends[-1] < len(block):
        ends.append(len(block))
    found = []
    for start, end in zip([0, *ends], ends, strict=False):
        line = block[start:end]
        try:
            text = line.decode(encoding)
        except UnicodeDecodeError:
            # Without its end: undecodable bytes must not swallow that.
            bare = line.removesuffix("\n".encode(encoding))
            text = bare.decode(encoding, "hanyi.mark") + ("" if bare == line else "\n")
        found.append(text.encode("utf-8", "surrogateescape"))  # MARK becomes \x80
    return b"".join(found)


def byte_order(path: Path, name: str | None = None) -> str:
    """Tell which UTF-16 a file is in by its mark; little-endian, as most are, where it has none."""
    with open_bytes(path, name) as file:
        return "utf-16-be" if file.read(2) == codecs.BOM_UTF16_BE else "utf-16-le"
