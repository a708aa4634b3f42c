"""Whatever the text, BPE-dropout keeps it, and does what its definition says."""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hanyi.tokens.bpe import BpeConfig, Tokenizer, train_tokenizer
from hanyi.tokens.bpe_dropout import BpeDropout
from hanyi.tokens.vocab import SPECIALS

TEXTS = [
    "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。",
    "Birds sing 1234 songs; we don't mind, it's spring and the birds are singing, singing.",
    "\t  a  b banana bandana ananas ",
] * 4

any_text = st.text(st.characters(exclude_categories=["Cs"]))
awkward = st.lists(
    st.one_of(
        any_text, st.sampled_from([*TEXTS, *SPECIALS, " ", "'s", "00700", "𠮷", "👍🏽", "鸟" * 20])
    ),
    max_size=4,
).map("".join)
texts = st.lists(awkward, max_size=5)
seeds = st.integers(0, 2**32)


@lru_cache
def trained() -> Tokenizer:
    return train_tokenizer(TEXTS, BpeConfig(vocab=330, max_word_chars=16, max_digits=2))


@lru_cache
def merge_table() -> dict[tuple[int, int], tuple[int, int]]:
    """Give the rank and the result of each merge."""
    return {
        (left, right): (rank, joined)
        for rank, (left, right, joined) in enumerate(trained().merges())
    }


def encode(texts: list[str]) -> list[NDArray[np.uint16]]:
    return [np.array(ids, np.uint16) for ids in trained().encode_batch(texts)]


def segment(texts: list[str], probability: float, seed: int) -> list[list[int]]:
    found = BpeDropout(trained(), probability)(encode(texts), np.random.default_rng(seed))
    assert all(ids.dtype == np.uint16 for ids in found)
    return [ids.tolist() for ids in found]


def plain(text: str, probability: float, rng: np.random.Generator) -> list[int]:
    """Segment as Algorithm 1 of the paper says, word by word and merge by merge."""
    bpe, table = trained()._bpe, merge_table()
    result = []
    for word, _ in bpe.pre_tokenizer.pre_tokenize_str(text):
        split = [bpe.token_to_id(sign) for sign in word]
        while True:
            merges = [
                (*table[pair], at)
                for at, pair in enumerate(pairwise(split))
                if pair in table and rng.random() >= probability
            ]
            if not merges:
                break
            _, joined, at = min(merges)
            split[at : at + 2] = [joined]
        result += split
    return result


@settings(max_examples=100, deadline=None)
@given(texts, st.floats(0, 1), seeds)
def test_the_text_stays_and_equal_seeds_give_equal_tokens(
    texts: list[str], probability: float, seed: int
) -> None:
    found = segment(texts, probability, seed)
    assert trained().decode_batch(found) == texts
    assert segment(texts, probability, seed) == found


@settings(max_examples=100, deadline=None)
@given(texts, seeds)
def test_without_dropout_the_tokens_are_the_tokenizers(texts: list[str], seed: int) -> None:
    found = segment(texts, 0.0, seed)
    assert found == trained().encode_batch(texts)
    assert found == [plain(text, 0.0, np.random.default_rng(0)) for text in texts]


@settings(max_examples=50, deadline=None)
@given(texts, seeds)
def test_with_certain_dropout_the_tokens_are_bytes(texts: list[str], seed: int) -> None:
    found = segment(texts, 1.0, seed)
    assert list(map(len, found)) == [len(text.encode()) for text in texts]
    assert found == [plain(text, 1.0, np.random.default_rng(0)) for text in texts]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 329), max_size=30), max_size=4), st.floats(0, 1), seeds)
def test_any_ids_keep_their_bytes(rows: list[list[int]], probability: float, seed: int) -> None:
    """As those of a text that was cut inside a character, or special ones."""
    spelling = trained().spelling()
    given_ids = [np.array(ids, np.uint16) for ids in rows]
    found = BpeDropout(trained(), probability)(given_ids, np.random.default_rng(seed))
    for ids, again in zip(rows, found, strict=True):
        spelt = [byte for token in again.tolist() for byte in spelling[token]]
        assert spelt == [byte for token in ids for byte in spelling[token]]


@pytest.mark.parametrize("word", [" singing", "鸟鸟处处", " banana"])
@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_segmentations_are_as_frequent_as_the_definition_says(
    word: str, probability: float
) -> None:
    count = 3000
    rng = np.random.default_rng(1)
    expected = Counter(tuple(plain(word, probability, rng)) for _ in range(count))
    found = Counter(map(tuple, segment([word] * count, probability, seed=2)))
    assert len(expected) > 2
    for pieces in expected.keys() | found.keys():
        share = (expected[pieces] + found[pieces]) / (2 * count)
        tolerance = 4 * math.sqrt(2 * count * share * (1 - share)) + 4
        assert abs(expected[pieces] - found[pieces]) < tolerance, pieces


def test_words_of_a_batch_are_drawn_one_by_one() -> None:
    found = segment([" singing singing"] * 4000, 0.1, seed=3)
    alone = segment([" singing"] * 4000, 0.1, seed=4)
    whole = sum(ids == trained().encode(" singing") for ids in alone) / 4000
    both = sum(ids == trained().encode(" singing singing") for ids in found) / 4000
    assert both == pytest.approx(whole**2, abs=0.03)
    assert 0.5 < whole < 0.99
