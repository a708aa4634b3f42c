"""The tree of a search against the search itself and a plain one, over random tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import example, given, settings

from hanyi.decoding.config import PLAIN, SearchConfig
from hanyi.decoding.search import search
from hanyi.decoding.sentences import Sentence, Wish
from hanyi.explain.engine import watched_search
from hanyi.explain.tree import leaf
from hanyi.explain.watch import Watch
from hanyi.tokens.vocab import BOS, EOS, PAD
from tests.property.test_decoding_beam import mixes, sentences, tables
from tests.searches import Task, plain_beam
from tests.tables import Prefixes, Table

CPU = torch.device("cpu")


def begun(sentence: Sentence, config: SearchConfig) -> Prefixes:
    return Prefixes.begin(1, config.beam_size, [sentence.src_len])


@settings(max_examples=50, deadline=None)
@given(tables, sentences(6), mixes())
def test_the_tree_is_that_of_the_search(
    table: Table, sentence: Sentence, config: SearchConfig
) -> None:
    expected = search(table.step, begun(sentence, config), [sentence], config, CPU)[0]
    found, watch = watched_search(table.step, begun(sentence, config), sentence, config, CPU)
    assert found == expected
    for one in found:
        number = leaf(watch, one)
        assert number is not None
        assert watch.nodes[number].log_prob == one.log_prob
    assert_a_tree(watch, table)
    kept = Counter(len(node.tokens) for node in watch.nodes if node.fate == "kept")
    assert max(kept.values()) <= config.beam_size
    # A search that never stops early finds these ends and perhaps more.
    ends = plain_beam(Task(table, sentence, replace(config, n_best=1)))
    known = {(tuple(one.tokens), one.finished): one.log_prob for one in ends}
    for node in watch.nodes:
        if node.fate == "finished":
            assert known[node.tokens[:-1], True] == pytest.approx(node.log_prob, abs=1e-4)
        if node.fate == "cut":
            assert known[node.tokens, False] == pytest.approx(node.log_prob, abs=1e-4)


def assert_a_tree(watch: Watch, table: Table) -> None:
    root, *others = watch.nodes
    assert (root.tokens, root.parent, root.log_prob) == ((), None, 0.0)
    for node in others:
        assert node.parent is not None
        parent = watch.nodes[node.parent]
        assert node.tokens[:-1] == parent.tokens
        assert parent.fate == "kept"
        gain = table.log_probs(0, (BOS, *parent.tokens))[node.tokens[-1]]
        assert node.log_prob == pytest.approx(parent.log_prob + gain, abs=1e-4)
        assert node.tokens[-1] not in {PAD, BOS}
        assert (node.tokens[-1] == EOS) == (node.fate == "finished") or node.fate == "dropped"


EMPTY_PLACE = (
    Table(0, vocab=6, sharpness=0.3),
    Sentence(1, 3, wish=Wish(terms=(((1, 1),),))),
    replace(PLAIN, beam_size=4, length_penalty=0.0, patience=1.0),
)
"""A term adds a token that is known already, whose place stays empty."""


@settings(max_examples=30, deadline=None)
@given(tables, sentences(6), mixes())
@example(*EMPTY_PLACE)
def test_what_goes_on_is_foreseen(table: Table, sentence: Sentence, config: SearchConfig) -> None:
    """Of what is looked at, the watch says which will fill the places; the search agrees."""

    class Foreseeing(Watch):
        def goes_on(self, origins: Sequence[int], tokens: Sequence[int]) -> None:
            chosen = zip(origins, tokens, strict=True)
            for one, foreseen in zip(chosen, self.looks.going, strict=True):
                assert one == foreseen or one not in self.looks.totals
            super().goes_on(origins, tokens)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hanyi.explain.engine.Watch", Foreseeing)
        watched_search(table.step, begun(sentence, config), sentence, config, CPU)


@settings(max_examples=10, deadline=None)
@given(tables, mixes())
def test_what_is_dropped_is_likelier_than_what_was_not_looked_at(
    table: Table, config: SearchConfig
) -> None:
    """In the first step of a plain beam: kept, ended and dropped are the likeliest of all."""
    plain = replace(config, beam_groups=1, diversity_penalty=0.0, no_repeat_ngram=0)
    sentence = Sentence(2, 4)
    _, watch = watched_search(table.step, begun(sentence, plain), sentence, plain, CPU)
    first = sorted(node.log_prob for node in watch.nodes if len(node.tokens) == 1)
    gains = [
        gain for token, gain in enumerate(table.log_probs(0, (BOS,))) if token not in {PAD, BOS}
    ]
    assert first == pytest.approx(sorted(gains)[-len(first) :], abs=1e-4)
