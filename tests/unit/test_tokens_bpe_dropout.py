from __future__ import annotations

import numpy as np
import pytest

from hanyi.tokens import bpe_dropout
from hanyi.tokens.bpe import BpeConfig, Tokenizer, train_tokenizer
from hanyi.tokens.bpe_dropout import BpeDropout


def tokenizer() -> Tokenizer:
    texts = ["low lower lowest newer newest wide", "春眠不觉晓"] * 5
    return train_tokenizer(texts, BpeConfig(vocab=280, max_word_chars=16, max_digits=1))


def test_pieces_may_cross_those_of_the_tokenizer() -> None:
    """Words are segmented from their bytes up, not pieces cut smaller."""
    bpe = train_tokenizer(["bc ab bc"] * 5, BpeConfig(vocab=264, max_word_chars=16, max_digits=1))
    rows = [np.array(bpe.encode("abc"), np.uint16)] * 100
    assert bpe.tokens(rows[0].tolist()) == ["a", "bc"]
    found = BpeDropout(bpe, 0.5)(rows, np.random.default_rng(0))
    seen = {tuple(bpe.tokens(ids.tolist())) for ids in found}
    assert seen == {("a", "bc"), ("ab", "c"), ("a", "b", "c")}


def test_a_text_cut_inside_a_character_keeps_its_bytes() -> None:
    bpe = tokenizer()
    whole = BpeDropout(bpe, 1.0)(
        [np.array(bpe.encode("春眠 low"), np.uint16)], np.random.default_rng(0)
    )
    cut = whole[0][:4]  # one character and a byte of the next
    for probability in (0.0, 0.3, 1.0):
        (found,) = BpeDropout(bpe, probability)([cut], np.random.default_rng(0))
        assert found.tolist() == cut.tolist()


def test_empty_rows_stay_empty() -> None:
    bpe = tokenizer()
    dropout = BpeDropout(bpe, 0.0)
    empty, full = np.array([], np.uint16), np.array(bpe.encode("low lower"), np.uint16)
    rng = np.random.default_rng(0)
    assert dropout([], rng) == []
    assert [ids.tolist() for ids in dropout([empty], rng)] == [[]]
    rows = [empty, full, empty, full, empty, empty]
    assert [ids.tolist() for ids in dropout(rows, rng)] == [ids.tolist() for ids in rows]


def test_draws_go_on_with_the_generator() -> None:
    bpe = tokenizer()
    dropout = BpeDropout(bpe, 0.5)
    rows = [np.array(bpe.encode("lowest newest"), np.uint16)] * 20
    rng = np.random.default_rng(0)
    first, second = dropout(rows, rng), dropout(rows, rng)
    assert [ids.tolist() for ids in first] != [ids.tolist() for ids in second]


def test_what_is_remembered_is_bounded_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bpe = tokenizer()
    rows = [np.array(bpe.encode(text), np.uint16) for text in ("low", "newer", "春眠", "wide low")]

    def twice() -> tuple[list[list[int]], int]:
        dropout, rng = BpeDropout(bpe, 0.5), np.random.default_rng(0)
        found = [*dropout(rows[:3], rng), *dropout(rows, rng), *dropout(rows[::-1], rng)]
        return [ids.tolist() for ids in found], len(dropout._known)

    expected, remembered = twice()
    assert remembered == 4
    monkeypatch.setattr(bpe_dropout, "REMEMBERED", 3)
    assert twice() == (expected, 3)
