"""The difference between a translation and its reference: nothing lost, and readable."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanyi.report.diff import Kind, differences

TEXTS = st.text(alphabet="ab c.我们0é\n", max_size=30) | st.text(max_size=20)


def shown(reference: str, translation: str) -> str:
    """Write pieces as people would: -missing-, +extra+."""
    signs = {Kind.SAME: "", Kind.MISSING: "-", Kind.EXTRA: "+"}
    pieces = differences(reference, translation)
    return "".join(f"{signs[kind]}{text}{signs[kind]}" for kind, text in pieces)


@settings(max_examples=150, deadline=None)
@given(reference=TEXTS, translation=TEXTS)
def test_both_texts_are_whole(reference: str, translation: str) -> None:
    pieces = differences(reference, translation)
    same_or = {
        kind: "".join(text for one, text in pieces if one in {kind, Kind.SAME}) for kind in Kind
    }
    assert same_or[Kind.MISSING] == reference
    assert same_or[Kind.EXTRA] == translation
    assert all(text for _, text in pieces)
    assert all(one.kind is not other.kind for one, other in pairwise(pieces))


@settings(max_examples=100, deadline=None)
@given(text=TEXTS.filter(bool))
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert differences(text, text) == [(Kind.SAME, text)]


@pytest.mark.parametrize(
    ("reference", "translation", "expected"),
    [
        ("Her food is pizzas.", "Her food is pizza.", "Her food is pizza-s-."),
        ("I am 35.", "I am 53.", "I am -35-+53+."),
        ("The cow is here.", "The corn is here.", "The -cow-+corn+ is here."),
        ("an organization", "an organisation", "an organi-z-+s+ation"),
        ("useless", "useful", "-useless-+useful+"),
        ("我们明天去。", "我们后天去。", "我们-明-+后+天去。"),
        ("It is cold now.", "She was warm there.", "-It is cold now-+She was warm there+."),
        ("It went over there.", "She was here.", "-It went over t-+She was +here."),
        ("", "x", "+x+"),
        ("x", "", "-x-"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_words_are_parted_only_where_most_of_them_remains(
    reference: str, translation: str, expected: str
) -> None:
    assert shown(reference, translation) == expected
