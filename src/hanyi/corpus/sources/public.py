"""Public corpora by the names that mtdata gives them: `mtdata:Statmt-news_commentary-18.1-eng-zho`.

mtdata knows where 290,000 corpora lie, which member of an archive holds them and in which columns.
Only its index is used: its downloader neither resumes nor tells a broken body, and goes on without
checking certificates where these are wrong.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hanyi.corpus.sources.archives import unpack_member
from hanyi.corpus.sources.download import download
from hanyi.errors import DataError
from hanyi.languages import Languages, matches

log = logging.getLogger("hanyi.corpus")


class Public(NamedTuple):
    """Files of a corpus (one, or one of each side, source first), and how they are read."""

    files: list[tuple[Path, ...]]
    reading: dict[str, Any]


class _Layout(NamedTuple):
    format: str
    pair: bool  # one file for each side
    columns: tuple[int, int] = (0, 1)
    header: bool = False


def fetch_public(name: str, languages: Languages, where: str, sha256: str | None) -> Public:
    """Download a corpus of mtdata's index and say how it is read.

    Raises `DataError` for an unknown name (with those next to it), a corpus of other languages, and
    one in a form that is not read here.
    """
    log.info("%s: looking it up in mtdata's index, half a minute the first time", name)
    entry = _find(name, languages, where)
    swapped = _is_swapped([str(code) for code in entry.did.langs], languages, where, name)
    layout = _layout(entry, where, name)
    urls = [entry.url] if isinstance(entry.url, str) else list(entry.url)
    if sha256 and len(urls) > 1:
        raise DataError(
            f"{where}.sha256", f"one sum for the {len(urls)} files of {name}", "none", "remove it"
        )
    paths = [download(url, where, sha256) for url in urls]
    if entry.is_archive:
        paths = [unpack_member(paths[0], pattern) for pattern in entry.in_paths]
    if layout.pair:
        return Public([tuple(reversed(paths)) if swapped else tuple(paths)], _reading(layout))
    columns = tuple(reversed(layout.columns)) if swapped else layout.columns
    return Public(
        [(path,) for path in paths], _reading(layout, src_column=columns[0], tgt_column=columns[1])
    )


def _reading(layout: _Layout, **columns: int) -> dict[str, Any]:
    return {"format": layout.format, "delimiter": "auto", "header": layout.header, **columns}


def _index(where: str) -> Any:
    try:
        from mtdata.index import INDEX  # seconds, and 26 of them where it was never used
    except ImportError:
        raise DataError(
            f"{where}.source", "no package mtdata", "it for sources that begin with mtdata:",
            "pip install mtdata",
        ) from None  # fmt: skip
    except OSError as error:  # the index is kept below $MTDATA, else ~/.mtdata
        raise DataError(
            error.filename or "~/.mtdata", error.strerror or str(error),
            "a place for mtdata's index",
            "set the environment variable MTDATA to a folder that can be written",
        ) from None  # fmt: skip
    return INDEX


def _find(name: str, languages: Languages, where: str) -> Any:
    entries = {str(entry.did): entry for entry in _index(where).get_entries()}
    *head, src, tgt = name.split("-") if name.count("-") >= 2 else ("", name, "")
    for known in (name, "-".join((*head, tgt, src))):
        if known in entries:
            return entries[known]
    near = [
        str(entry.did)
        for entry in entries.values()
        if _order([str(code) for code in entry.did.langs], languages) is not None
    ]
    close = difflib.get_close_matches(name, near, n=5, cutoff=0.5)
    nearest = f"perhaps {', '.join(close)}" if close else "none is like it"
    raise DataError(
        f"{where}.source", name, f"a name of mtdata's index ({nearest})",
        f"see `mtdata list -id -l {languages.src}-{languages.tgt}`",
    )  # fmt: skip


def _order(codes: Sequence[str], languages: Languages) -> bool | None:
    """Tell whether a pair of codes is the other way round, None for another pair."""
    if len(codes) != 2:
        return None
    wanted = (languages.src, languages.tgt)
    for swapped, found in ((False, tuple(codes)), (True, tuple(reversed(codes)))):
        if all(map(_kin, wanted, found)):
            return swapped
    return None


@cache  # the index has many entries and few codes
def _kin(wanted: str, found: str) -> bool:
    """Tell whether either is the wider one: zh for zho_TW, zh-TW for zho."""
    return matches(wanted, found) or matches(found, wanted)


def _is_swapped(codes: Sequence[str], languages: Languages, where: str, name: str) -> bool:
    swapped = _order(codes, languages)
    if swapped is None:
        raise DataError(
            f"{where}.source", f"{name}, which is {'-'.join(codes)}",
            f"a corpus of {languages.src} and {languages.tgt}", "name another or set `languages`",
        )  # fmt: skip
    return swapped


def _layout(entry: Any, where: str, name: str) -> _Layout:
    """Tell how a corpus is laid out, from the endings that the index gives."""
    kind = entry.in_ext or entry.ext
    count = len(entry.in_paths or ()) or (1 if isinstance(entry.url, str) else len(entry.url))
    columns = tuple(entry.cols or (0, 1))
    if "huggingface.co" not in str(entry.url) and len(columns) == 2:
        if "tsv" in kind and (entry.is_archive or count == 1):
            return _Layout("tsv", pair=False, columns=columns)
        if "csvwithheader" in kind:
            return _Layout("csv", pair=False, columns=columns, header=True)
        if "tmx" in kind:
            return _Layout("tmx", pair=False)
        if ("sgm" in kind or "txt" in kind) and count == 2:
            return _Layout("sgm" if "sgm" in kind else "moses", pair=True)
    raise DataError(
        f"{where}.source", f"{name}, which is published as {kind}",
        "tables, plain text of both sides, TMX or SGM",
        "download it by hand, or for a WMT test set use sacrebleu:",
    )  # fmt: skip
