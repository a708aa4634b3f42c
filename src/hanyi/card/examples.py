"""Example translations, chosen by nobody: by a hash of the ids of the test rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from hanyi.corpus.samples import excerpt, splitmix64

OF_A_CORPUS = 4
MOST = 12
LONGEST = 300  # characters of a text

_SIGNS = re.compile(r"([\\`*_{}\[\]|~$#])")


class Example(NamedTuple):
    """A test row and its translation."""

    corpus: str
    source: str
    reference: str
    hypothesis: str


def choose(sentences: pa.Table) -> list[Example]:
    """Choose a few rows of each corpus, corpora in order of their names."""
    order = np.argsort(splitmix64(sentences["id"].to_numpy()), kind="stable")
    names = sentences["corpus"].to_numpy(zero_copy_only=False)
    known = sorted(set(names))[:MOST]
    share = min(OF_A_CORPUS, MOST // max(1, len(known)))
    places = [place for name in known for place in order[names[order] == name][:share].tolist()]
    rows = sentences.select(["corpus", "src", "reference", "hypothesis"]).take(
        pa.array(places, pa.int64())
    )
    return [Example(*row.values()) for row in rows.to_pylist()]


def table(examples: list[Example]) -> Iterator[str]:
    """Give the lines of a Markdown table."""
    yield "| corpus | source | translation | reference |"
    yield "| --- | --- | --- | --- |"
    for row in examples:
        texts = (row.corpus, row.source, row.hypothesis, row.reference)
        yield f"| {' | '.join(plain(_shown(text)) for text in texts)} |"


def _shown(text: str) -> str:
    return excerpt(" ".join(text.split()), longest=LONGEST)


def plain(text: str) -> str:
    """Write a text so that Markdown shows it as it is, on one line."""
    escaped = _SIGNS.sub(r"\\\1", " ".join(text.split())).replace("&", "&amp;")
    return escaped.replace("<", "&lt;").replace(">", "&gt;")
