"""Which encoding a file is in: detected where the user leaves it open, checked where given."""

from __future__ import annotations

import codecs
import logging
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from charset_normalizer import from_bytes

from hanyi.corpus.formats.inputs import AUTO, Input
from hanyi.corpus.formats.packing import open_bytes
from hanyi.corpus.formats.scripts import OTHER, scripts_in
from hanyi.corpus.formats.text import decodes, known_encoding
from hanyi.errors import DataError
from hanyi.languages import scripts

log = logging.getLogger("hanyi.corpus")

SAMPLE_BYTES = 1 << 20
SEARCH_BYTES = 1 << 26
"""How far to look for the first byte beyond ASCII, which alone tells encodings apart."""

FITTING = 0.9
"""Lines beyond ASCII that must decode: the others are broken, not of another encoding."""

NUL_SHARE = 0.02
LEGACY_BYTES = 1 << 17
NEAR = 0.05

_MARKS = (
    (codecs.BOM_UTF32_LE, None),  # begins as that of UTF-16 does
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_FAMILIES = {
    ("gb18030",): "Han",
    ("big5", "cp950", "big5hkscs"): "Han",
    ("shift_jis", "cp932"): "Hiragana",
    ("euc_jp",): "Hiragana",
    ("euc_kr", "cp949"): "Hangul",
    ("cp1252",): "Latin",
}
"""Each with what its vendors added to it, the plain one first, and the script that tells it."""


def decide_encoding(file: Input) -> Input:
    """Detect the encoding where it is `auto`, and log it; else check the one that is given.

    Raises `DataError` when nothing fits, when the given one cannot be right, and when the two files
    of a pair differ.
    """
    asked = file.reading.encoding
    if asked != AUTO:
        for path, name in zip(file.paths, file.names, strict=True):
            check_encoding(path, asked, f"{file.section}.encoding", name)
        return replace(file, reading=replace(file.reading, encoding=known_encoding(asked)))
    codes = (file.languages.src, file.languages.tgt)
    wanted = [codes] if len(file.paths) == 1 else [codes[:1], codes[1:]]
    samples = [_sample(path, name) for path, name in zip(file.paths, file.names, strict=True)]
    found = [guess_encoding(*both) for both in zip(samples, wanted, strict=True)]
    told = {guess for guess in found if guess}  # plain ASCII is the same in all of them
    if len(told) > 1:
        raise DataError(
            file.name, f"{found[0]} beside {found[1]}", "two files in one encoding",
            f"convert one, such as with `iconv -f {found[0]} -t {found[1]}`; or set"
            f" {file.section}.encoding, and lines that are in no such are rejected",
        )  # fmt: skip
    encoding = told.pop() if told else "utf-8"
    for sample, guess, name in zip(samples, found, file.names, strict=True):
        # The other file of a pair may tell it: a few quotation marks beyond ASCII do not.
        if not (guess or sample.isascii() or _fitting(sample, encoding) >= FITTING):
            raise DataError(
                f"{name}:1", "text in no encoding that can be told by itself",
                "UTF-8, UTF-16, GB18030, Big5 or the like",
                f"set {file.section}.encoding, or convert the file",
            )  # fmt: skip
    log.info("%s: read as %s (detected)", file.name, encoding)
    return replace(file, reading=replace(file.reading, encoding=encoding))


def check_encoding(path: Path, encoding: str, key: str, name: str | None = None) -> None:
    """Raise `DataError` when the first bytes can only be of another Unicode encoding.

    GB18030 and its like can be told apart by their errors alone, so they are left to the caller.
    """
    sample = _sample(path, name)
    guess = guess_encoding(sample)
    if guess is None and sample.isascii() and encoding.startswith("utf-16"):
        guess = "utf-8"  # plain ASCII, or nothing, which no reader minds
    if guess and guess.startswith("utf") and guess[:5] != encoding[:5]:
        raise DataError(f"{name or path}:1", f"{guess} text", encoding, f"set {key}: {guess}")


def guess_of(path: Path, languages: Iterable[str] = ()) -> str | None:
    """Guess the encoding of a file from its first bytes beyond ASCII."""
    return guess_encoding(_sample(path, None), languages)


def guess_encoding(sample: bytes, languages: Iterable[str] = ()) -> str | None:
    """Guess from the first bytes of a file; None for plain ASCII and for what fits nothing.

    A sample may end in the midst of a character. `languages` are those that the file holds.
    """
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return name
    if sample.count(0) > NUL_SHARE * len(sample) and (wide := _utf16(sample)):
        return wide
    if sample.isascii():
        return None
    if _fitting(sample, "utf-8") > 1 / 2:
        # Text of another encoding is UTF-8 by chance in a word, but not in most of its lines.
        return "utf-8"
    known = [known for code in languages if OTHER not in (known := scripts(code))]
    if 0 in sample and (wide := _utf16(sample)) and _likeness(sample.decode(wide, "ignore"), known):
        return wide
    return _legacy(sample, known)


def _sample(path: Path, name: str | None) -> bytes:
    with open_bytes(path, name) as file:
        sample = file.read(SAMPLE_BYTES)
        at = len(sample)
        while sample.isascii() and at < SEARCH_BYTES and (more := file.read(SAMPLE_BYTES)):
            at += len(more)
            if not more.isascii():
                # From the line's start, or in a line that is as long as a sample, from anywhere.
                sample = more[more.find(b"\n") + 1 :] or more
    return sample


def _fitting(sample: bytes, encoding: str) -> float:
    """Give the share of the lines beyond ASCII that decode; the last may be cut."""
    try:
        codecs.getincrementaldecoder(encoding)("strict").decode(sample)
    except UnicodeDecodeError:
        lines = [line for line in sample.split(b"\n") if not line.isascii()]
    else:
        return 1.0
    return sum(decodes(line, encoding) for line in lines) / len(lines)


def _utf16(sample: bytes) -> str | None:
    """Tell UTF-16 without a mark by its NUL bytes, and by newlines of two bytes."""
    name = "utf-16-le" if sample[1::2].count(0) >= sample[::2].count(0) else "utf-16-be"
    text = sample[: len(sample) // 2 * 2].decode(name, "replace")
    broken = text.count("\ufffd") > (1 - FITTING) * len(text)
    return None if broken or 2 * text.count("\n") < sample.count(b"\n") else name


def _legacy(sample: bytes, known: list[tuple[str, ...]]) -> str | None:
    """Choose among the encodings before Unicode by what decodes and what looks like text."""
    lines = [line for line in sample.split(b"\n") if not line.isascii()]
    sample = b"\n".join(lines)[:LEGACY_BYTES]
    fits = {}
    for family, script in _FAMILIES.items():
        if known and not any(script in wanted for wanted in known):
            continue
        shares = {name: _fitting(sample, name) for name in family}
        best = max(family, key=lambda name: shares[name])
        likeness = _likeness(sample.decode(best, "ignore"), known)
        if shares[best] >= FITTING and likeness > 1 / 2:
            fits[family[0]] = (best, likeness)
    highest = max((likeness for _, likeness in fits.values()), default=0)
    chosen = {first: name for first, (name, share) in fits.items() if share > highest - NEAR}
    if len(chosen) > 1:
        lines = sample.split(b"\n")
        whole = [line for line in lines if all(decodes(line, name) for name in chosen.values())]
        ranked = from_bytes(b"\n".join(whole), cp_isolation=list(chosen)).best()
        if ranked and (name := known_encoding(ranked.encoding)) in chosen:
            return chosen[name]
    return next(iter(chosen.values()), None)


def _likeness(text: str, known: list[tuple[str, ...]]) -> float:
    """Give the share of the characters beyond ASCII that are letters of these languages.

    Marks, punctuation and spaces do not count. It is 0 when the text lacks a language.
    """
    found = scripts_in(text)
    if not all(any(found[script] for script in wanted) for wanted in known):
        return 0
    foreign = [char for char in text if not char.isascii()]
    counted = [char for char in foreign if unicodedata.category(char)[0] not in "MPZ"]
    scripts_beyond = scripts_in("".join(counted))
    names = {script for wanted in known for script in wanted} or set(scripts_beyond)
    return sum(scripts_beyond[name] for name in names) / len(counted) if counted else 0
