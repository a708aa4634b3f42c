"""The `fetch` section: which corpora to fetch, from where, and how their files are read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, replace

from hanyi.corpus.formats import FORMATS
from hanyi.corpus.formats.inputs import AUTO, Reading
from hanyi.corpus.formats.text import known_encoding
from hanyi.corpus.pairs import ROLES
from hanyi.params import at_least, config, one_of
from hanyi.starter.everyday import EverydayConfig

FILES = "files"
"""Scheme of a source without one: a path or a glob below `fetch.inputs`."""

URL = "url"
STARTER = {"everyday": None, "hsk": "all", "glosses": "train"}
"""Corpora of the starter with the role of each; None: one part for each split."""

ROLE_OF_SCHEME = {FILES: "all", URL: "all", "mtdata": "all", "sacrebleu": "test"}
SCHEMES = (*ROLE_OF_SCHEME, "starter")
READING = tuple(field.name for field in fields(Reading))
READING_OF_SCHEME = {FILES: READING, URL: READING, "mtdata": ("encoding",)}
"""What may be said of the reading: named corpora bring their format and columns with them."""

ENTRIES_MAX = 256
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_LICENSE = re.compile(r"[\w.+-]+(?: [\w.+-]+)*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@config
class CorpusConfig:
    """An entry of `fetch.corpora`: a source, the corpus that its rows belong to, and their role.

    This is the one config with defaults: a key that is left out means "as the source says" (role),
    1 (weight), "not stated" (license) or "as `fetch.reading` says" (all others), and each entry
    would be twelve keys long without them. `license` changes no row: the model card names it.
    """

    name: str
    source: str | tuple[str, str]
    role: str | None = None
    weight: float | None = None
    sha256: str | None = None
    license: str | None = None
    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    src_column: int | str | None = None
    tgt_column: int | str | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without the other entries and without the files."""
        if not re.fullmatch(r"[\w-]+", self.name):
            raise ValueError(f"name must be letters, digits, - and _, got {self.name!r}")
        if "" in self.names:
            raise ValueError("source must not be empty")
        self._check_source()
        if self.role is not None:
            one_of("role", self.role, ROLES)
        if self.weight is not None:
            at_least("weight", self.weight, 0)
            if math.isinf(self.weight):
                raise ValueError("weight must be a finite number, got infinity")
        if self.license is not None and not _LICENSE.fullmatch(self.license):
            raise ValueError(
                f"license must be a name such as CC-BY-4.0 (see spdx.org), got {self.license!r}"
            )
        if self.sha256 is not None and not _SHA256.fullmatch(self.sha256):
            raise ValueError(f"sha256 must be 64 digits 0-9 a-f, got {self.sha256!r}")
        if self.sha256 is not None and self.scheme not in {URL, "mtdata"}:
            raise ValueError("sha256 is for http, https and mtdata sources alone")
        allowed = READING_OF_SCHEME.get(self.scheme, ())
        if refused := [key for key in self.reading if key not in allowed]:
            raise ValueError(
                f"{', '.join(refused)} cannot be set for {self.source}, which says itself how it is"
                " read; remove the key"
            )

    def _check_source(self) -> None:
        if not isinstance(self.source, str):
            if len(set(self.source)) < 2 or {_scheme(name) for name in self.source} != {FILES}:
                raise ValueError(
                    "source with two names must be two different files below fetch.inputs, source"
                    f" side first, got {list(self.source)}"
                )
        elif self.scheme not in SCHEMES:
            raise ValueError(
                "source must be a path, http://..., https://..., mtdata:ID, sacrebleu:SET or"
                f" starter:PART, got {self.source!r}"
            )
        elif self.scheme == "starter":
            one_of("source", self.detail, STARTER)
            if STARTER[self.detail] is None and self.role is not None:
                raise ValueError(f"role cannot be set for {self.source}, which has train, valid"
                                 f" and test of its own, got {self.role!r}")  # fmt: skip

    @property
    def names(self) -> tuple[str, ...]:
        """Give the source as one or two names."""
        return (self.source,) if isinstance(self.source, str) else self.source

    @property
    def scheme(self) -> str:
        """Give the kind of the source, one of `SCHEMES` once it has been checked."""
        return _scheme(self.names[0])

    @property
    def detail(self) -> str:
        """Give what stands behind the scheme, such as hsk of starter:hsk."""
        return self.names[0].partition(":")[2]

    @property
    def reading(self) -> dict[str, str | int | bool]:
        """Give what this entry says of its own about the reading."""
        values = {key: getattr(self, key) for key in READING}
        return {key: value for key, value in values.items() if value is not None}

    def with_reading(self, reading: Reading) -> Reading:
        """Put what this entry says of its own in the place of what is said for all."""
        return replace(reading, **self.reading)  # type: ignore[arg-type]


@config
class FetchConfig:
    """The corpora, and what they share."""

    inputs: str
    corpora: tuple[CorpusConfig, ...]
    everyday: EverydayConfig
    reading: Reading

    def __post_init__(self) -> None:
        """Check the ranges, and the entries against each other."""
        for key in ("sentences", "valid", "test"):
            at_least(f"everyday.{key}", getattr(self.everyday, key), 1)
        if not 1 <= len(self.corpora) <= ENTRIES_MAX:
            raise ValueError(
                f"corpora must be 1 to {ENTRIES_MAX} entries, such as"
                f" {{name: mine, source: train.tsv}}, got {len(self.corpora)}"
            )
        _check_reading(self.reading, "reading.")
        sources: dict[tuple[str, ...], int] = {}
        for number, corpus in enumerate(self.corpora):
            if (first := sources.setdefault(corpus.names, number)) != number:
                raise ValueError(f"corpora.{number}: source is that of corpora.{first},"
                                 f" expected another, got {corpus.source}")  # fmt: skip
            _check_reading(corpus.with_reading(self.reading), f"corpora.{number}.")
        weights_of(self.corpora)


def weights_of(corpora: tuple[CorpusConfig, ...]) -> Mapping[str, float]:
    """Give the one weight of each name; raise `ValueError` for two."""
    weights: dict[str, float] = {}
    for number, corpus in enumerate(corpora):
        if corpus.weight is None:
            continue
        if weights.setdefault(corpus.name, corpus.weight) != corpus.weight:
            raise ValueError(
                f"corpora.{number}: weight of {corpus.name} must be the same in each entry of that"
                f" name, got {weights[corpus.name]:g} and {corpus.weight:g}"
            )
    return {corpus.name: weights.get(corpus.name, 1.0) for corpus in corpora}


def _check_reading(reading: Reading, prefix: str) -> None:
    one_of(f"{prefix}format", reading.format, (AUTO, *FORMATS))
    delimiter = reading.delimiter
    if delimiter != AUTO and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ValueError(
            f"{prefix}delimiter must be auto or one character, no quote and no line end, got"
            f" {delimiter!r}"
        )
    src, tgt = reading.src_column, reading.tgt_column
    if src == tgt or any(isinstance(one, int) and one < 0 for one in (src, tgt)):
        raise ValueError(
            f"{prefix}src_column and tgt_column must differ, as names or as numbers from 0, got"
            f" {src!r} and {tgt!r}"
        )
    if reading.encoding != AUTO:
        try:
            known_encoding(reading.encoding)
        except ValueError as error:
            raise ValueError(f"{prefix}{error}") from None


def _scheme(name: str) -> str:
    found = _SCHEME.match(name)
    scheme = found[1].lower() if found else FILES
    return URL if scheme in {"http", "https"} else scheme
