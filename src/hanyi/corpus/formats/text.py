"""Text files as lines: plain or gzip, several encodings, undecodable bytes marked."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from hanyi.errors import DataError

ENCODINGS = (
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "gbk", "big5", "big5hkscs",
    "shift_jis", "euc-jp", "euc-kr", "latin-1", "cp1252",
)  # fmt: skip
"""Encodings in which a broken byte spoils its own line only."""

MARK = "\udc80"
"""Stands where bytes could not be decoded; a lone surrogate, which no encoding above can yield."""

GZIP = b"\x1f\x8b\x08"
PACKED = {
    b"\xfd7zXZ\x00": "xz",
    b"BZh91AY&SY": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
HEAD_BYTES = 16
BUFFER_BYTES = 1 << 20


def _mark(error: UnicodeError) -> tuple[str, int]:
    """Stand in for undecodable bytes, and never swallow the line's end with them."""
    assert isinstance(error, UnicodeDecodeError)
    end = error.end
    if not error.encoding.lower().replace("_", "-").startswith(("utf-16", "utf16")):
        newline = error.object.find(b"\n", error.start, error.end)
        end = newline if newline > error.start else end
    return MARK, end


codecs.register_error("hanyi.mark", _mark)


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked when its first bytes are gzip's.

    Raises `DataError` for a file that is missing, unreadable, packed otherwise, or broken as gzip;
    the latter also while the body of the `with` reads on.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            file.seek(0)
            for magic, name in PACKED.items():
                if head.startswith(magic):
                    raise DataError(path, f"{name} data", "plain text or gzip", "unpack the file")
            if head.startswith(GZIP):
                with gzip.open(file) as unpacked:
                    yield cast("BinaryIO", io.BufferedReader(unpacked, BUFFER_BYTES))
            else:
                yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            path, f"broken gzip data ({error})", "a whole .gz file", "copy or download it again"
        ) from None
    except FileNotFoundError:
        raise DataError(
            path, "no such file", "a corpus file", "mend the name or put it there"
        ) from None
    except (IsADirectoryError, PermissionError) as error:
        found = "a folder" if isinstance(error, IsADirectoryError) else "no right to read it"
        raise DataError(path, found, "a readable file", "mend the name or the rights") from None


def lines(path: Path, encoding: str) -> Iterator[str]:
    r"""Yield the lines of a file without their ends, which are \n or \r\n and nothing else.

    A byte-order mark is left out. Bytes that cannot be decoded become `MARK`.
    """
    with open_bytes(path) as file:
        text = io.TextIOWrapper(file, encoding=encoding, errors="hanyi.mark", newline="\n")
        first = True
        for line in text:
            if first:
                first = False
                line = line.removeprefix("\ufeff")  # noqa: PLW2901
                if not line:  # nothing but the byte-order mark
                    continue
            yield line.removesuffix("\n").removesuffix("\r")
