"""The automaton of terms against reading the text anew, and what a beam makes of it."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from hanyi.decoding.banks import by_banks, rule_out_ends, widen
from hanyi.decoding.sentences import Sentence, Tokens, Wish
from hanyi.decoding.terms import Mark, Terms
from hanyi.tokens.vocab import EOS
from tests.searches import missing

token = st.integers(4, 6)
runs = st.lists(token, min_size=1, max_size=4).map(tuple)
terms = st.lists(st.lists(runs, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3)


def read(automaton: Terms, tokens: Tokens) -> Mark:
    mark = automaton.begin()
    for each in tokens:
        mark = mark.after(each)
    return mark


@given(terms.map(tuple), st.lists(token, max_size=12).map(tuple))
def test_what_is_missing_is_what_the_text_says(
    wanted: tuple[tuple[Tokens, ...], ...], tokens: Tokens
) -> None:
    automaton, sentence = Terms(wanted), Sentence(1, 20, wish=Wish((), wanted))
    for length in range(len(tokens) + 1):
        mark = read(automaton, tokens[:length])
        now = missing(sentence, tokens[:length])
        assert mark.missing == now
        nearer = [each for each in range(4, 8) if missing(sentence, (*tokens[:length], each)) < now]
        assert sorted(mark.advancing) == nearer


def test_a_match_that_breaks_falls_back() -> None:
    automaton = Terms([[(5, 5, 6)]])
    assert read(automaton, (5, 5)).missing == 1
    assert read(automaton, (5, 5, 5)).missing == 1  # the last two still count
    assert read(automaton, (5, 5, 5, 6)).missing == 0
    assert read(automaton, (5, 6)).missing == 3


def test_terms_may_share_tokens() -> None:
    automaton = Terms([[(4, 5)], [(5, 6)], [(5,)]])
    assert read(automaton, (4, 5, 6)).missing == 0


def test_marks_are_made_once() -> None:
    automaton = Terms([[(4, 5)]])
    assert read(automaton, (4, 4)) is read(automaton, (6, 4))


def test_what_a_term_needs_is_a_candidate_once() -> None:
    mark = Terms([[(4, 5)], [(6,)]]).begin()
    log_probs = torch.tensor([[-9.0, -9, -9, -1, -5, -2, -6], [-9.0, -9, -9, -1, -5, -2, -6]])
    marks = [mark, None]
    rule_out_ends(log_probs, marks)
    assert log_probs[:, EOS].tolist() == [-torch.inf, -1]
    gains, tokens = log_probs.topk(2)
    assert tokens.tolist() == [[5, 4], [EOS, 5]]
    gains, tokens = widen(gains, tokens, log_probs, marks)
    found = [
        {(each, gain) for each, gain in zip(row, of, strict=True) if gain > -torch.inf}
        for row, of in zip(tokens.tolist(), gains.tolist(), strict=True)
    ]
    assert found == [{(5, -2), (4, -5), (6, -6)}, {(EOS, -1), (5, -2)}]


def test_banks_take_turns() -> None:
    mark = Terms([[(4, 5)]]).begin()
    keys = torch.tensor([[[-1.0, -2, -3, -torch.inf], [-1.5, -2.5, -3.5, -4]]])
    tokens = torch.tensor([[[6, 7, 4, 8], [6, 7, 4, 5]]])  # the second has written 4
    order = torch.arange(6).flip(0)[None]
    by_banks(order, keys, tokens, [[mark, mark.after(4)]])
    # Missing: none by place 7; 1 by 2 and 6; 2 by 0, 4, 1 and 5.
    assert order.tolist() == [[7, 2, 0, 6, 4, 1]]


def test_a_sentence_without_terms_keeps_its_order() -> None:
    order = torch.tensor([[2, 0], [1, 0]])
    by_banks(order, torch.zeros(2, 1, 3), torch.full((2, 1, 3), 5), [[None], [None]])
    assert order.tolist() == [[2, 0], [1, 0]]
