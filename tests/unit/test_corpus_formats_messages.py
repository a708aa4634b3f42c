"""A message stays a line that fits on a screen, whatever a file has in the place of a name."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hanyi.corpus.formats import decide
from hanyi.errors import DataError
from tests.structured import make_input

LONG = "x" * 9000
TABLE = io.BytesIO()
parquet.write_table(pa.table({LONG: [{LONG: [1]}], LONG[1:]: ["a"]}), TABLE)

FILES: dict[str, tuple[str, str | bytes, dict[str, object]]] = {
    "encoding of XML": ("a.tmx", f'<?xml version="1.0" encoding="{LONG}"?><tmx/>', {}),
    "entity": ("a.tmx", f'<!DOCTYPE tmx [<!ENTITY {LONG} "y">]><tmx/>', {}),
    "languages": ("a.tmx", f'<tmx><tu><tuv lang="{LONG}"><seg>y</seg></tuv></tu></tmx>', {}),
    "charset of PO": ("a.po", f'msgid ""\nmsgstr "Content-Type: x; charset={LONG}\\n"\n', {}),
    "language of PO": (
        "a.po", f'msgid ""\nmsgstr "Language: {LONG}\\n"\n\nmsgid "a"\nmsgstr "b"\n', {},
    ),
    "a line of PO": ("a.po", f"{LONG}\n", {}),
    "header": ("a.csv", f"{LONG},{LONG}y\na,b\n", {"header": True, "src_column": "zh"}),
    "header row": ("a.csv", f"{'en ' * 9000},{'zh ' * 9000}\n", {}),
    "keys": ("a.jsonl", f'{{"{LONG}": "a", "{LONG}y": "b"}}\n', {}),
    "columns of Parquet": ("a.parquet", TABLE.getvalue(), {"src_column": "zh"}),
    "type of Parquet": ("a.parquet", TABLE.getvalue(), {"src_column": 0, "tgt_column": 1}),
    "cells": ("a.csv", f"{LONG},{'好' * 9000}\n", {"src_column": 0, "tgt_column": 1}),
    "numbers": ("a.csv", f"{'1' * 9000},好\n" * 9, {}),
    "one column": ("a.tsv", f"{LONG}\n", {}),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_messages_are_short(tmp_path: Path, case: str) -> None:
    name, content, reading = FILES[case]
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError) as caught:
        decide(make_input(path, **reading))
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)
