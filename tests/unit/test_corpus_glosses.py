"""Glosses: the first sense that reads as a translation."""

from __future__ import annotations

import pytest

from hanyi.corpus.sources.glosses import collect, first_sense


@pytest.mark.parametrize(
    ("gloss", "sense"),
    [
        ("good; appropriate; proper", "good"),
        ("you (courteous, as opposed to informal 你[ni3])", "you"),
        ("pen (CL:支[zhi1],枝[zhi1]); brush", "pen"),
        ("CL:個|个[ge4]; person", "person"),
        ("surname Huang or Hwang; yellow", "yellow"),
        ("to do (sth (for sb)); to act", "to do"),
        ("to help sb", "to help somebody"),
        ("to think that ...; to feel", "to feel"),
        ("variant of 个|個[ge4]; piece", "piece"),
        ("to see; to meet", "to see"),
        ("see 老頭子|老头子[lao3 tou2 zi5]", None),
        ("classifier for cars", None),
        ("a word that nobody would ever use to translate it; short", "short"),
        ("Canada (abbr. for 加拿大[Jia1 na2 da4]); surname Jia", "Canada"),
        ("", None),
        ("; ;", None),
        ("(particle)", None),
    ],
)
def test_first_sense(gloss: str, sense: str | None) -> None:
    assert first_sense(gloss) == sense


def test_collect_deduplicates_and_counts_words_without_a_sense() -> None:
    tokens = [
        {"word": "好", "gloss_en": "good"},
        {"word": "好", "gloss_en": "good; fine"},
        {"word": "好", "gloss_en": "to be fond of"},
        {"word": "吗", "gloss_en": ""},
        {"word": "吗", "gloss_en": "surname Ma"},
        {"word": "了", "gloss_en": ""},
        {"word": "了", "gloss_en": "to finish"},
    ]
    glosses = collect(tokens)
    assert glosses.pairs == [("好", "good"), ("好", "to be fond of"), ("了", "to finish")]
    assert glosses.skipped == 1
