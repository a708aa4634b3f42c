"""Files as bytes: gzip, xz, bzip2 and zstd are told by their first bytes and unpacked."""

from __future__ import annotations

import bz2
import io
import lzma
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import pyarrow as pa

from hanyi.errors import DataError


class Packing(NamedTuple):
    """One kind of packed file: how it begins, and what unpacks it (None: nothing here does)."""

    name: str
    magic: re.Pattern[bytes]
    unpack: Callable[[BinaryIO], BinaryIO] | None


def _arrow(codec: str) -> Callable[[BinaryIO], BinaryIO]:
    # Arrow tells a cut zstd stream, which the package zstandard takes for a whole one, and unpacks
    # gzip a quarter faster than Python does.
    return lambda file: cast("BinaryIO", pa.CompressedInputStream(pa.PythonFile(file), codec))


def _xz(file: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", lzma.LZMAFile(file))


def _bzip2(file: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", bz2.BZ2File(file))  # Arrow fails at an empty stream within a file


PACKINGS = (
    Packing("gzip", re.compile(rb"\x1f\x8b\x08"), _arrow("gzip")),
    Packing("xz", re.compile(rb"\xfd7zXZ\x00"), _xz),
    Packing("bzip2", re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), _bzip2),
    Packing("zstd", re.compile(rb"\x28\xb5\x2f\xfd"), _arrow("zstd")),
    Packing("zip", re.compile(rb"PK\x03\x04"), None),
    Packing("7z", re.compile(rb"7z\xbc\xaf\x27\x1c"), None),
    Packing("rar", re.compile(rb"Rar!\x1a\x07"), None),
)
SUFFIXES = (".gz", ".xz", ".bz2", ".zst")
BUFFER_BYTES = 1 << 20
_HEAD_BYTES = 16
_TAR, _TAR_AT = b"ustar", 257


def packing_of(head: bytes) -> Packing | None:
    """Tell by its first bytes how a file is packed; None for a plain one."""
    return next((kind for kind in PACKINGS if kind.magic.match(head)), None)


def is_packed(path: Path, name: str | None = None) -> bool:
    """Tell whether a file is packed; raise `DataError` where `open_bytes` would."""
    with open_bytes(path, name), path.open("rb") as plain:
        return packing_of(plain.read(_HEAD_BYTES)) is not None


@contextmanager
def open_bytes(path: Path, name: str | None = None) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked when its first bytes are those of a packed one.

    Raises `DataError`, which calls the file `name`, for a file that is missing, unreadable, an
    archive, or broken as a packed one; the latter also while the body of the `with` reads on.
    """
    where, kind = name or str(path), None
    try:
        with path.open("rb") as plain:
            kind = packing_of(plain.peek(_HEAD_BYTES))
            if kind and kind.unpack is None:
                raise _archive(where, f"a {kind.name} archive")
            file: BinaryIO = plain
            if kind and kind.unpack:
                file = io.BufferedReader(cast("io.RawIOBase", kind.unpack(plain)), BUFFER_BYTES)
            head = cast("io.BufferedReader", file).peek(_TAR_AT + len(_TAR))
            if head[_TAR_AT:].startswith(_TAR):
                raise _archive(where, "a tar archive")
            yield file
    except FileNotFoundError:
        raise DataError(
            where, "no such file", "a corpus file", "mend the name or put it there"
        ) from None
    except (IsADirectoryError, PermissionError) as error:
        found = "a folder" if isinstance(error, IsADirectoryError) else "no right to read it"
        raise DataError(where, found, "a readable file", "mend the name or the rights") from None
    except (EOFError, lzma.LZMAError, OSError, pa.ArrowException) as error:
        if not kind or (isinstance(error, OSError) and error.errno is not None):
            raise  # a fault of the disk, not of the data
        raise DataError(
            where, f"broken {kind.name} data ({error})", "a whole file",
            "copy or download it again",
        ) from None  # fmt: skip


def _archive(where: str, found: str) -> DataError:
    return DataError(
        where, found, "plain text, or one file packed by gzip, xz, bzip2 or zstd", "unpack it"
    )
