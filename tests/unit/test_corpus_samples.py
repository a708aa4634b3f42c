"""Samples are fair, bounded and shown as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hanyi.corpus.funnel import Funnel
from hanyi.corpus.report import write_samples
from hanyi.corpus.samples import EMPTY, LONGEST, Smallest, change, excerpt, splitmix64, visible
from hanyi.corpus.tables import REJECTED


def test_hash_is_the_published_one() -> None:
    assert int(splitmix64(np.array([0], np.int64))[0]) == 0xE220A8397B1DCDAF
    assert len(set(splitmix64(np.arange(100_000, dtype=np.int64)).tolist())) == 100_000


@pytest.mark.parametrize("block", [1, 3, 1000])
def test_smallest_hashes_win_in_any_order(block: int) -> None:
    ids = np.random.default_rng(1).permutation(1000).astype(np.int64)
    smallest: Smallest[int] = Smallest(20)
    for start in range(0, 1000, block):
        some = ids[start : start + block]
        smallest.add(some, lambda row, some=some: int(some[row]))
    expected = np.argsort(splitmix64(np.arange(1000, dtype=np.int64)))[:20]
    assert smallest.items() == sorted(expected.tolist())


def test_only_few_rows_are_looked_at() -> None:
    looked_at = []
    smallest: Smallest[int] = Smallest(20)
    for start in range(0, 1_000_000, 10_000):
        ids = np.arange(start, start + 10_000, dtype=np.int64)
        smallest.add(ids, lambda row: looked_at.append(row) or row)
    assert len(looked_at) < 300
    assert len(smallest.items()) == 20


def test_no_kind_of_row_is_favoured() -> None:
    smallest: Smallest[int] = Smallest(1000)
    smallest.add(np.arange(100_000, dtype=np.int64), int)
    rows = np.array(smallest.items())
    assert 450 < np.sum(rows % 2) < 550
    assert 450 < np.sum(rows < 50_000) < 550


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", EMPTY),
        ("你好 world", "你好 world"),
        ("a\tb\r\nc\0", "a⟨U+0009⟩b⟨U+000D⟩⟨U+000A⟩c⟨U+0000⟩"),
        ("a\u200bb\u202ec\ufeff", "a⟨U+200B⟩b⟨U+202E⟩c⟨U+FEFF⟩"),
        ("中\u3000文\u00a0字", "中⟨U+3000⟩文⟨U+00A0⟩字"),
        (" a  b c ", "␣a␣␣b c␣"),
        ("葛\U000e0100 ❤\ufe0f", "葛⟨U+E0100⟩ ❤⟨U+FE0F⟩"),
    ],
)
def test_nothing_is_invisible(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_long_texts_are_cut_and_say_so() -> None:
    assert excerpt("字" * LONGEST) == "字" * LONGEST
    assert excerpt("字" * (LONGEST + 1234)) == "字" * LONGEST + " … [1,234 more characters]"


def test_a_change_is_shown_where_it_is() -> None:
    assert change("你 好", "你好") == ("你 好", "你好")
    before, after = change("a" * 5000 + "b  c" + "d" * 500, "a" * 5000 + "b c" + "d" * 500)
    assert before.startswith("[4,962 characters] … aaa")
    assert "ab␣␣cd" in before
    assert "ab cd" in after
    assert before.endswith(" more characters]")


def test_what_looks_alike_is_told_apart() -> None:
    assert change("cafe\u0301", "caf\u00e9") == ("cafe⟨U+0301⟩", "café")
    assert change("\u212b", "\u00c5") == ("⟨U+212B⟩", "Å")


def test_markdown(tmp_path: Path) -> None:
    funnel = Funnel(["spaces", "chars"], ["spaces"])
    funnel.add_read("mine", "all", 3)
    columns = [["a.tsv", "b.tsv"], [7, 1], ["```", "# 一"], ["", "<b>|x|</b>"], ["chars"] * 2]
    rows = pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, REJECTED, strict=True)],
        schema=REJECTED,
    )
    funnel.add_rejected("mine", "all", "chars", np.array([6, 1000], np.int64), rows)
    funnel.add_repaired("spaces", "tgt", np.array([1000], np.int64), ["x  y"], ["x y"])
    write_samples(tmp_path / "samples.md", funnel)
    text = (tmp_path / "samples.md").read_text(encoding="utf-8")
    spaces, chars = text.split("\n## ")[1:]
    assert spaces == (
        "spaces\n\nChanged 1 tgt.\n\n```text\nrow 1,000, target\n  x␣␣y\n  x y\n```\n"
    )
    assert chars == (
        "chars\n\nRejected 2 rows, 66.67%.\n\n```text\n"
        f"a.tsv:7\n  ```\n  {EMPTY}\n\nb.tsv:1\n  # 一\n  <b>|x|</b>\n```\n"
    )
    assert "\n".join(funnel.table()) in text
