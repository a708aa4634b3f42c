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
    columns = sentences.select(["corpus", "src", "reference", "hypothesis"]).to_pydict()
    rows = [Example(*(column[place] for column in columns.values())) for place in order.tolist()]
    names = sorted({row.corpus for row in rows})
    share = max(1, min(OF_A_CORPUS, MOST // len(names))) if names else 0
    return [
        row for name in names[:MOST] for row in [one for one in rows if one.corpus == name][:share]
    ]


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
