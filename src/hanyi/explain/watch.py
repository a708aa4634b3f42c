"""The tree of a beam search: what each step kept, what it dropped, what ended there.

The search is only watched: what went into each step, what came out, and which place goes on from
which. What ended is found by the same functions that the search calls, on the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hanyi.decoding.banks import rule_out_ends, widen
from hanyi.decoding.choices import Choice, choose
from hanyi.decoding.config import SearchConfig
from hanyi.decoding.found import NOTHING
from hanyi.decoding.hypothesis import best_tokens
from hanyi.decoding.rules import Rules
from hanyi.decoding.sentences import Sentence
from hanyi.decoding.terms import Mark, Terms
from hanyi.tokens.vocab import BOS, EOS

KEPT = "kept"  # took a place of the beam
DROPPED = "dropped"  # was looked at and got no place, or was open when the search was over
FINISHED = "finished"  # ended with EOS
CUT = "cut"  # ended before: at the limit, or where the rules left no token

Continuation = tuple[int, int]
"""The place of a hypothesis in the beam, and the token that it goes on with."""


@dataclass(slots=True)
class Node:
    """A hypothesis at one step of a search."""

    tokens: tuple[int, ...]  # without BOS, with EOS
    parent: int | None  # number of its node; None: the root
    log_prob: float  # nats, of all tokens
    fate: str


@dataclass(frozen=True, slots=True)
class Looks:
    """What a step chose from."""

    totals: dict[Continuation, float]  # log probabilities of all that are possible, best first
    ended: list[Continuation]
    going: list[Continuation]  # these fill the places, if there is a further step


class Watch:
    """One sentence's search; `nodes` grows with each step, and begins with the root."""

    def __init__(self, sentence: Sentence, config: SearchConfig, device: torch.device) -> None:
        self.sentence, self.config, self.device = sentence, config, device
        self.rules = Rules([sentence], config.no_repeat_ngram, device)
        beams, terms = config.beam_size, sentence.wish.terms
        self.places = beams // config.beam_groups  # of each group
        self.wanted = config.patience * self.places if beams > 1 else 1
        self.finished = [0] * config.beam_groups
        self.nodes = [Node((), None, 0.0, KEPT)]
        # The number of the node in each place, None where there is none: all places of a group are
        # equal at first, so that only one of them counts.
        self.beam = [None if place % self.places else 0 for place in range(beams)]
        self.marks: list[Mark | None] = [Terms(terms).begin()] * beams if terms else []
        self.length = 0
        self.looks = Looks({}, [], [])

    def sees(self, log_probs: Tensor) -> None:
        """Take in the log probabilities of the next tokens, `[beams, tgt_vocab]`."""
        log_probs = log_probs.clone()
        self._rule_out(log_probs)
        for node, likeliest in zip(self.beam, log_probs.amax(dim=1).tolist(), strict=True):
            if node is not None and likeliest == NOTHING:
                self.nodes[node].fate = CUT
        width = min(self.config.beam_size + 1, log_probs.size(1))
        gains, tokens = best_tokens(log_probs, width)
        if self.marks:
            gains, tokens = widen(gains, tokens, log_probs, self.marks)
        before = [NOTHING if node is None else self.nodes[node].log_prob for node in self.beam]
        totals = torch.tensor(before, device=self.device)[:, None] + gains
        best, live = choose(
            totals[None],
            tokens[None],
            self.config.beam_groups,
            self.config.diversity_penalty,
            [self.marks] if self.marks else [],
        )
        by_total = _by_total(totals.tolist(), tokens.tolist())
        ends = dict.fromkeys(one for one in _continuations(best) if one[1] == EOS)
        ended = [one for one in ends if one in by_total]
        self.looks = Looks(by_total, ended, _continuations(live))
        self.length += 1

    def goes_on(self, origins: Sequence[int], tokens: Sequence[int]) -> None:
        """Take in which place each place goes on from, and the token that it took."""
        chosen = list(zip(origins, tokens, strict=True))
        self._settle(chosen, KEPT)
        if self.marks:
            marks = [self.marks[place] for place in origins]
            self.marks = [
                mark and mark.after(token) for mark, token in zip(marks, tokens, strict=True)
            ]

    def is_over(self) -> None:
        """Take in that there is no further step: what is open was cut at the limit, or lost."""
        self._settle(self.looks.going if self.length == self.sentence.limit else [], CUT)

    def _rule_out(self, log_probs: Tensor) -> None:
        if not self.rules.idle:
            texts = [() if node is None else self.nodes[node].tokens for node in self.beam]
            padded = [[*text, *[BOS] * (self.length - len(text))] for text in texts]
            written = torch.tensor(padded, dtype=torch.int64, device=self.device)
            owners = torch.zeros(len(texts), dtype=torch.int64, device=self.device)
            self.rules.rule_out(log_probs, written, owners)
        if self.marks:
            rule_out_ends(log_probs, self.marks)

    def _settle(self, chosen: Sequence[Continuation], fate: str) -> None:
        """Add the nodes of a step: what ended, what was chosen, and the best of the others."""
        ended = self.looks.ended
        for place, _ in ended:
            self.finished[place // self.places] += 1
        # One that is chosen twice holds a place that is empty: terms may add what is known already.
        going = [
            one if self._can_go_on(one) and one not in chosen[:place] else None
            for place, one in enumerate(chosen)
        ]
        others = [one for one in self.looks.totals if one not in {*ended, *going}]
        nodes = [None if one is None else self._node(one, fate) for one in going]
        self.nodes += [self._node(one, FINISHED) for one in ended]
        self.nodes += [self._node(one, DROPPED) for one in others[: self.config.beam_size]]
        self.beam = [None if node is None else self._number(node) for node in nodes]

    def _can_go_on(self, one: Continuation) -> bool:
        return one in self.looks.totals and self.finished[one[0] // self.places] < self.wanted

    def _node(self, one: Continuation, fate: str) -> Node:
        place, token = one
        parent = self.beam[place]
        assert parent is not None
        tokens = (*self.nodes[parent].tokens, token)
        return Node(tokens, parent, self.looks.totals[one], fate)

    def _number(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1


def _by_total(
    totals: Iterable[Iterable[float]], tokens: list[list[int]]
) -> dict[Continuation, float]:
    found = [
        ((place, token), total)
        for place, row in enumerate(totals)
        for token, total in zip(tokens[place], row, strict=True)
        if total > NOTHING
    ]
    return dict(sorted(found, key=lambda one: -one[1]))


def _continuations(choice: Choice) -> list[Continuation]:
    """Give those of the first sentence."""
    return list(zip(choice.origins[0].tolist(), choice.tokens[0].tolist(), strict=True))
