"""Members of downloaded archives (zip, tar), unpacked once beside them."""

from __future__ import annotations

import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO

from hanyi.artifacts import atomic_directory, digest_bytes
from hanyi.errors import DataError

BROKEN = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, RuntimeError)
"""What readers of zip and tar raise for a broken or a locked one."""


def unpack_member(archive: Path, pattern: str) -> Path:
    """Give the one member of an archive whose path fits a glob, as a file of its own.

    Raises `DataError` when the archive is broken, or when none or several fit.
    """
    folder = archive.parent / "members" / digest_bytes(pattern.encode("utf-8"))[:16]
    # A member older than its archive is of another download.
    if folder.is_dir() and folder.stat().st_mtime_ns >= archive.stat().st_mtime_ns:
        return next(folder.iterdir())
    try:
        with _open(archive) as members, atomic_directory(folder) as temporary:
            names = [name for name in members.names if fnmatchcase(name, pattern)]
            if len(names) != 1:
                found = f"{len(names)} members that fit {pattern}"
                raise DataError(archive, found, "one", "tell the makers of the index")
            name = PurePosixPath(names[0]).name
            with members.open(names[0]) as packed, (temporary / name).open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
    except BROKEN as error:
        raise DataError(
            archive, f"a broken archive ({error})", "a whole zip or tar file",
            f"remove {archive.parent} and run again",
        ) from None  # fmt: skip
    return folder / name


class _Zip:
    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self.names = [one.filename for one in file.infolist() if not one.is_dir()]

    def open(self, name: str) -> IO[bytes]:
        return self._file.open(name)


class _Tar:
    def __init__(self, file: tarfile.TarFile) -> None:
        self._file = file
        self._members = {one.name: one for one in file if one.isfile()}
        self.names = list(self._members)

    def open(self, name: str) -> IO[bytes]:
        opened = self._file.extractfile(self._members[name])
        assert opened is not None, name  # it is None for folders and links alone
        return opened


@contextmanager
def _open(archive: Path) -> Iterator[_Zip | _Tar]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            yield _Zip(packed)
    else:
        with tarfile.open(archive) as taped:
            yield _Tar(taped)
