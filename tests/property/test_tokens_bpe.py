"""Whatever the text and the settings, nothing is lost and nothing becomes special."""

from __future__ import annotations

from functools import lru_cache

from hypothesis import given, settings
from hypothesis import strategies as st

from hanyi.tokens.bpe import BpeConfig, Tokenizer, train_tokenizer
from hanyi.tokens.vocab import SPECIALS

TEXTS = [
    "春眠不觉晓，处处闻啼鸟。",
    "Birds sing 12 songs; we don't mind, it's spring.",
    "\t  a  b ",
] * 4


@lru_cache
def trained(max_word_chars: int, max_digits: int) -> Tokenizer:
    settings_ = BpeConfig(vocab=290, max_word_chars=max_word_chars, max_digits=max_digits)
    return train_tokenizer(TEXTS, settings_)


any_text = st.text(st.characters(exclude_categories=["Cs"]))
# Pieces that a careless tokenizer trips over, mixed with any text.
awkward = st.lists(
    st.one_of(
        any_text,
        st.sampled_from(
            [*SPECIALS, " ", "  ", "\n", "'s", "’t", "0", "〇", "𠮷", "👍🏽", "\u0301", "Ġ", "字字"]
        ),
    )
).map("".join)


@settings(max_examples=200, deadline=None)
@given(
    text=awkward, max_word_chars=st.sampled_from([1, 8, 64]), max_digits=st.sampled_from([1, 2, 64])
)
def test_any_text_comes_back(text: str, max_word_chars: int, max_digits: int) -> None:
    tokenizer = trained(max_word_chars, max_digits)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(len(SPECIALS) <= number < tokenizer.size for number in ids)


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(awkward, max_size=5))
def test_a_batch_is_its_texts(texts: list[str]) -> None:
    tokenizer = trained(8, True)
    encoded = tokenizer.encode_batch(texts)
    assert encoded == [tokenizer.encode(text) for text in texts]
    assert tokenizer.decode_batch(encoded) == texts


@settings(max_examples=100, deadline=None)
@given(ids=st.lists(st.integers(0, 289)))
def test_any_ids_give_some_text(ids: list[int]) -> None:
    tokenizer = trained(8, True)
    text = tokenizer.decode(ids)
    assert len(tokenizer.tokens(ids)) == len(ids)
    if "\ufffd" not in text:
        assert tokenizer.decode(tokenizer.encode(text)) == text
