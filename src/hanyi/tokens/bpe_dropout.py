"""BPE-dropout: the same text in other pieces each time (Provilkov et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import ne

import numpy as np
from numpy.typing import NDArray

from hanyi.tokens.bpe import Tokenizer

Ids = NDArray[np.uint16]
Numbers = NDArray[np.int64]

NEVER = np.iinfo(np.int64).max
"""The rank of two neighbours that no merge joins."""

REMEMBERED = 2**18
"""Sentences whose word boundaries are remembered, at most: some 50 MB; finding them is slow."""


class BpeDropout:
    """Segments sentences anew, leaving out each possible merge with a probability in each round.

    The dropout of the tokenizers library draws from a generator that cannot be seeded. Here the
    words of all sentences are merged side by side, one merge a word and round, by array operations.
    """

    def __init__(self, tokenizer: Tokenizer, probability: float) -> None:
        self._tokenizer = tokenizer
        self._probability = probability
        self._known: dict[bytes, bytes] = {}
        # Between words and in place of what was merged away; above every token, so that its pairs
        # can be told from all others.
        self._gap = tokenizer.size
        spelling = tokenizer.spelling()
        self._spelling = np.fromiter(chain.from_iterable(spelling), np.int64)
        self._lengths = np.fromiter(map(len, spelling), np.int64)
        self._starts = np.cumsum(self._lengths) - self._lengths
        merges = np.array(tokenizer.merges(), np.int64).reshape(-1, 3)
        self._joined = merges[:, 2]
        pairs = self._pair(merges[:, 0], merges[:, 1])
        order = np.argsort(pairs)
        # One more, larger than any pair, so that every search ends inside.
        self._pairs = np.append(pairs[order], NEVER)
        self._ranks = np.append(order, 0)

    def __call__(self, rows: Sequence[Ids], rng: np.random.Generator) -> list[Ids]:
        """Give fresh ids for the texts of `rows`, which are ids without special tokens.

        Equal states of `rng` give equal ids; a probability of 0 gives `rows`, one of 1 bytes.
        """
        if not any(map(len, rows)):
            return [np.asarray(row, np.uint16) for row in rows]
        ids = np.concatenate(rows).astype(np.int64)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        begins = self._word_begins(rows)
        # Where each token's bytes begin, with a gap before each word and one at the end.
        sizes = self._lengths[ids]
        within = np.cumsum(sizes) - sizes
        places = within + np.cumsum(begins)
        tokens = np.full(sizes.sum() + np.count_nonzero(begins) + 1, self._gap)
        shift = np.arange(sizes.sum()) - np.repeat(within, sizes)
        tokens[np.repeat(places, sizes) + shift] = self._spelling[
            np.repeat(self._starts[ids], sizes) + shift
        ]
        merged = self._merge(tokens, places[begins] - 1, rng)
        # A row begins at the gap before its first word.
        bounds = np.append(places - begins, len(merged))[np.cumsum(lengths)[:-1]]
        return [
            row[row != self._gap].astype(np.uint16) for row in np.split(merged, bounds.tolist())
        ]

    def _word_begins(self, rows: Sequence[Ids]) -> NDArray[np.bool_]:
        """Tell which tokens begin a word, inside which merges stay, `[tokens]`."""
        spelt = [row.tobytes() for row in rows]
        known = self._known
        new = {key: row.tolist() for key, row in zip(spelt, rows, strict=True) if key not in known}
        if new:
            found = dict(zip(new, self._split(list(new.values())), strict=True))
            if len(known) + len(found) <= REMEMBERED:
                known.update(found)
            else:
                known = found | {key: known[key] for key in spelt if key in known}
        return np.frombuffer(b"".join([known[key] for key in spelt]), np.bool_)

    def _split(self, rows: list[list[int]]) -> list[bytes]:
        """Give a byte for each token, 1 if it begins a word."""
        again = self._tokenizer.words(self._tokenizer.decode_batch(rows))
        # Ids that are not what their text gives, such as those of a text cut inside a character,
        # are each kept as a word: its merges lead to this very token.
        words = [
            words if ids == same else list(range(len(ids)))
            for ids, (same, words) in zip(rows, again, strict=True)
        ]
        return [bytes(map(ne, numbers, [-1, *numbers])) for numbers in words]

    def _merge(self, tokens: Numbers, starts: Numbers, rng: np.random.Generator) -> Numbers:
        """Merge the words that lie between gaps; `starts` are the gaps before them."""
        result: Numbers = tokens.copy()
        origin = np.arange(len(tokens))
        while len(starts):
            going = self._rounds(tokens, starts, rng)
            result[origin] = tokens
            # Only words that go on are kept, and of these only what was not merged away.
            keep = np.repeat(going, np.diff(starts, append=len(tokens) - 1))
            keep &= tokens[:-1] != self._gap
            keep[starts[going]] = True
            keep = np.append(keep, [True])
            starts = (np.cumsum(keep) - 1)[starts[going]]
            tokens, origin = tokens[keep], origin[keep]
        return result

    def _rounds(
        self, tokens: Numbers, starts: Numbers, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Merge in place until half of the tokens are gone or idle; tell which words go on.

        In each round every possible merge of a word is left out with the probability, and of those
        that remain the one of the highest rank, the first of equals, is done. A word is finished
        when none remains.
        """
        size = len(tokens)
        following, preceding = np.arange(1, size + 1), np.arange(-1, size - 1)
        # Rank and place in one number, so that the least one tells both.
        keys = np.full(size, NEVER)
        places = np.arange(size - 1)
        keys[:-1] = self._keys(tokens[:-1], tokens[1:], places, size)
        lengths = np.diff(starts, append=size - 1)
        words = np.arange(len(starts))
        busy = size
        while len(words) and 2 * busy > size:
            left_out = rng.random(size, np.float32) < self._probability
            least = np.minimum.reduceat(np.where(left_out, NEVER, keys), starts)[words]
            found = least != NEVER
            busy -= int(lengths[words[~found]].sum()) + np.count_nonzero(found)
            words = words[found]
            ranks, at = np.divmod(least[found], size)
            gone = following[at]
            before, after = preceding[at], following[gone]
            following[at], preceding[after] = after, at
            joined = self._joined[ranks]
            tokens[at], tokens[gone] = joined, self._gap
            keys[gone] = NEVER
            changed = np.concatenate([before, at])
            keys[changed] = self._keys(
                tokens[changed], np.concatenate([joined, tokens[after]]), changed, size
            )
        going = np.zeros(len(starts), np.bool_)
        going[words] = True
        return going

    def _keys(self, left: Numbers, right: Numbers, places: Numbers, size: int) -> Numbers:
        """Give rank * size + place of neighbours, NEVER for those that no merge joins."""
        pairs = self._pair(left, right)
        found = np.searchsorted(self._pairs, pairs)
        keys = self._ranks[found] * size + places
        keys[self._pairs[found] != pairs] = NEVER
        return keys

    def _pair(self, left: Numbers, right: Numbers) -> Numbers:
        return left * (self._gap + 1) + right
