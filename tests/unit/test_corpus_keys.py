"""Which sentences count as the same, and which pairs."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hanyi.corpus.keys import fold, fold_column, pair_keys, sentence_keys


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Hello, world!", "hello world", True),
        ("你好。", "你好！", True),
        ("ＡＢＣ１", "abc1", True),
        ("a\u200bb", "ab", True),
        ("STRASSE", "straße", True),
        ("37℃", "37°c", True),
        ("!", "?", False),
        ("...", "...", True),
        ("C++", "C", False),
        ("हिन्दी", "हनद", False),
        ("I don't know", "I do know", False),
    ],
)
def test_same_sentence(one: str, other: str, same: bool) -> None:
    keys = sentence_keys(pa.array([one, other]))
    assert (keys[0] == keys[1]).all() == same


def test_fold_never_gives_nothing_for_something() -> None:
    assert fold("—") == "—"
    assert fold("") == ""
    assert fold_column(pa.array(["—", "", "a—"])).to_pylist() == ["—", "", "a"]


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["。", ""]])
def test_columns_without_letters(texts: list[str]) -> None:
    column = pa.array(texts, pa.string())
    assert fold_column(column).to_pylist() == texts
    assert sentence_keys(column).shape == (len(texts), 2)


def test_pairs_are_the_same_to_the_byte() -> None:
    src, tgt = pa.array(["ab", "a", "ab", "Ab"]), pa.array(["c", "bc", "c", "c"])
    keys = [tuple(key) for key in pair_keys(src, tgt).tolist()]
    assert keys[0] == keys[2]
    assert len(set(keys)) == 3
