"""Terms that must stand in a translation: an automaton that reads it and knows what is missing.

All runs of all terms are read at once (Aho and Corasick 1975): the state after any tokens is the
longest end of them that begins a run, so a match that breaks falls back to the next shorter one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hanyi.decoding.sentences import Tokens

ROOT = 0


@dataclass(slots=True)
class Node:
    """An end of the text that begins a run of some term; the root is the empty one."""

    missing: list[int]  # of each term, tokens still to come, at least
    following: dict[int, int] = field(default_factory=dict)  # token: node
    fallback: int = ROOT


class Terms:
    """The automaton of one sentence's terms; each is met by any one of its runs."""

    def __init__(self, terms: Sequence[Sequence[Tokens]]) -> None:
        self.nodes = [Node([min(map(len, runs)) for runs in terms])]
        self.known: dict[tuple[int, frozenset[int]], Mark] = {}
        for term, runs in enumerate(terms):
            for run in runs:
                self._add(term, run)
        self._link()

    def begin(self) -> Mark:
        """Give the mark of a text without tokens."""
        return self.mark(ROOT, frozenset())

    def mark(self, node: int, met: frozenset[int]) -> Mark:
        """Give the mark of a text that ends at a node, after these terms were met."""
        key = (
            node,
            met.union(term for term, left in enumerate(self.nodes[node].missing) if not left),
        )
        return self.known.setdefault(key, Mark(self, *key))

    def next(self, node: int, token: int) -> int:
        """Give the node that a token leads to."""
        while token not in self.nodes[node].following:
            if node == ROOT:
                return ROOT
            node = self.nodes[node].fallback
        return self.nodes[node].following[token]

    def _add(self, term: int, run: Tokens) -> None:
        node = self.nodes[ROOT]
        for left, token in zip(reversed(range(len(run))), run, strict=True):
            if token not in node.following:
                node.following[token] = len(self.nodes)
                self.nodes.append(Node(list(self.nodes[ROOT].missing)))
            node = self.nodes[node.following[token]]
            node.missing[term] = min(node.missing[term], left)

    def _link(self) -> None:
        """Set the fallback of each node, those of shorter ends first."""
        waiting = list(self.nodes[ROOT].following.values())
        for number in waiting:
            node = self.nodes[number]
            shorter = self.nodes[node.fallback].missing
            node.missing = list(map(min, node.missing, shorter))
            for token, following in node.following.items():
                self.nodes[following].fallback = self.next(node.fallback, token)
                waiting.append(following)


@dataclass(frozen=True, eq=False)
class Mark:
    """How far a text has come with its terms."""

    terms: Terms
    node: int
    met: frozenset[int]
    following: dict[int, Mark] = field(default_factory=dict)  # by the tokens read so far

    @cached_property
    def missing(self) -> int:
        """The tokens that must still come, at least, if no two terms share any."""
        left = enumerate(self.terms.nodes[self.node].missing)
        return sum(count for term, count in left if term not in self.met)

    @cached_property
    def advancing(self) -> list[int]:
        """The tokens after which fewer are missing."""
        node, tokens = self.node, dict.fromkeys(self.terms.nodes[self.node].following)
        while node != ROOT:
            node = self.terms.nodes[node].fallback
            tokens |= dict.fromkeys(self.terms.nodes[node].following)
        return [token for token in tokens if self.after(token).missing < self.missing]

    def after(self, token: int) -> Mark:
        """Read one token."""
        if token not in self.following:
            self.following[token] = self.terms.mark(self.terms.next(self.node, token), self.met)
        return self.following[token]
