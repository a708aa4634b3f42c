"""The ``everyday`` corpus: sentence pairs drawn from a bilingual synchronous grammar.

A sentence is a pattern with words in its slots. Its combination (the pattern and the content
words, whoever does it and whenever) belongs to one split for good, by a hash: a test sentence
therefore joins words and a pattern that the training set shows only apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from random import Random
from typing import NamedTuple

from hanyi.starter.digits import below
from hanyi.starter.grammar import Grammar, Pattern, load
from hanyi.starter.numerals import NUMERALS
from hanyi.starter.spelling import noun, object_form, render
from hanyi.starter.words import GrammarError, Word, clash

SENTENCES_MAX = 200_000
"""The most training pairs one may ask for."""

_CONTENT = frozenset(("nouns", "verbs", "adjectives", "places"))
_HELD_OUT = {"valid": range(50), "test": range(50, 100)}
_SHARE_OF_PATTERN = 50
_PATIENCE = 60
_KNOWN = 3
_LARGE = 10_000
_TURNS = {"ticker": 6, "phone": 6, "price": 3, "sum": 3, "thousands": 3}
"""Digits must be copied one by one, which takes more practice than a word: turns a round."""
_UNSTOPPED = 8
"""One training statement in so many ends without its full stop, as people type."""
_ENGLISH_WORD = re.compile(r"[A-Za-z'-]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class EverydayConfig:
    """What to generate: ``sentences`` training pairs, and as many held-out ones as named."""

    sentences: int
    seed: int
    valid: int
    test: int


class EverydayPair(NamedTuple):
    """One sentence in both languages, the pattern it follows, and its split."""

    zh: str
    en: str
    pattern: str
    split: str


@dataclass(frozen=True, slots=True)
class Draw:
    """One sentence as drawn: the pair, the combination it belongs to, and its words."""

    pair: EverydayPair
    key: str
    words: tuple[str, ...]

    @property
    def vocabulary(self) -> set[str]:
        """What a held-out sentence shares with train: pattern, words, characters and forms."""
        characters = filter(str.isalpha, self.pair.zh)
        return {
            self.pair.pattern,
            *self.words,
            *characters,
            *_ENGLISH_WORD.findall(self.pair.en),
        }


@dataclass(slots=True)
class _Sampler:
    """Draw sentences, and remember how often each word was used, to use rare ones more."""

    grammar: Grammar
    rng: Random
    used: Counter[int] = field(default_factory=Counter)
    phrases: dict[tuple[int, int, bool], Word] = field(default_factory=dict)

    def draw(self, pattern: Pattern) -> Draw | None:
        """Draw one sentence of a pattern, or none if the words chosen clash."""
        chosen: dict[str, Word] = {}
        taken: set[str] = set()
        for slot, kind in pattern.slots:
            word = self._fill(kind, chosen, slot)
            if word is None or word.zh in taken:
                return None
            chosen[slot] = word
            taken.add(word.zh)
            taken.update(word.parts if word.kind != "people" else ())
        if clash(chosen):
            return None
        key = combination(pattern.name, chosen)
        pair = EverydayPair(
            render(pattern.zh, chosen, chinese=True),
            render(pattern.en, chosen, chinese=False),
            pattern.name,
            split_of(key),
        )
        return Draw(pair, key, tuple(part for word in chosen.values() for part in word.parts))

    def _fill(self, kind: str, chosen: Mapping[str, Word], slot: str) -> Word | None:
        if kind in NUMERALS:
            zh, en, value = NUMERALS[kind](self.rng)
            return Word(zh, en, "numbers", number=value)
        if kind in self.grammar.mixes:
            mix = self.grammar.mixes[kind]
            point = self.rng.random() * sum(weight for _, weight in mix)
            for option, weight in mix:
                point -= weight
                if point < 0:
                    return self._fill(option, chosen, slot)
        if kind.startswith("vp"):
            return self._phrase(kind, chosen, slot)
        return self._pick(self.grammar.choices(kind, chosen, slot))

    def _phrase(self, kind: str, chosen: Mapping[str, Word], slot: str) -> Word | None:
        """Draw an activity: a fixed one, or a transitive verb with a bare object.

        The object is generic in ``vps`` (to like *watching movies*), not in ``vp``.
        """
        generic = kind.startswith("vps")
        options: list[str] = []
        for option in kind.split("|"):
            phrase, _, rest = option.partition("&")
            tests = "&" + rest if rest else ""
            options += [f"act{tests}", f"vt&vp{tests}"] if phrase in ("vp", "vps") else [option]
        verb = self._pick(self.grammar.choices("|".join(options), chosen, slot))
        if verb is None or not verb.extra:
            return replace(verb, en=verb.counted) if verb and verb.counted and generic else verb
        thing = self._pick(self.grammar.choices("v.obj", {"v": verb}))
        if thing is None:
            return None
        key = (id(verb), id(thing), generic)
        if key not in self.phrases:
            form = object_form("gen" if generic else "obj", thing, verb)
            self.phrases[key] = Word(
                verb.zh + thing.zh,
                f"{verb.en} {noun(thing, form)}",
                "verbs",
                labels=verb.labels,
                parts=(verb.zh, thing.zh),
            )
        return self.phrases[key]

    def _pick(self, options: tuple[Word, ...]) -> Word | None:
        """Pick the least used of five random words, which evens out how often words occur."""
        if not options:
            return None
        drawn = [options[below(self.rng, len(options))] for _ in range(5)]
        word = min(drawn, key=lambda word: self.used[id(word)])
        self.used[id(word)] += 1
        return word


def combination(pattern: str, chosen: Mapping[str, Word]) -> str:
    """Name a sentence's combination: the pattern and its content words, sorted."""
    content = (part for word in chosen.values() if word.kind in _CONTENT for part in word.parts)
    return "\t".join((pattern, *sorted(content)))


def split_of(key: str) -> str:
    """Tell the split of a combination; a pattern without content words is always train."""
    if "\t" not in key:
        return "train"
    bucket = int.from_bytes(blake2b(key.encode("utf-8"), digest_size=8).digest(), "big") % 1000
    return next((name for name, buckets in _HELD_OUT.items() if bucket in buckets), "train")


def generate(config: EverydayConfig) -> Iterator[EverydayPair]:
    """Generate the corpus: the training pairs, then the validation and the test pairs.

    The same configuration gives the same pairs everywhere. Chinese sentences are all distinct;
    no sentence of a held-out split, in either language, occurs in another split. The words and
    the pattern of a held-out sentence all occur in the training pairs (thrice at least, from
    10,000 pairs on): it is new only as a combination.
    """
    if config.sentences > SENTENCES_MAX:
        raise _too_many("sentences", config.sentences, SENTENCES_MAX)
    grammar = load()
    rng = Random(config.seed)
    patterns = [pattern for pattern in grammar.patterns for _ in range(_turns(pattern))]
    draws = _Stream(_Sampler(grammar, rng), patterns, config.sentences)
    train: list[Draw] = []
    pools: dict[str, list[Draw]] = {"valid": [], "test": []}
    while len(train) < config.sentences:
        found = draws.next_draw()
        if found is None:
            raise _too_many("sentences", config.sentences, len(train))
        if found.pair.split == "train":
            train.append(found)
        else:
            pools[found.pair.split].append(found)
    _shuffle(train, rng)
    yield from (_as_typed(found.pair, rng) for found in train)
    uses = Counter(word for found in train for word in found.vocabulary)
    least = _KNOWN if config.sentences >= _LARGE else 1
    known = {word for word, count in uses.items() if count >= least}
    english = {found.pair.en for found in train}
    for split, wanted in (("valid", config.valid), ("test", config.test)):
        pool = _one_of_each_first(pools[split], rng)
        for count in range(wanted):
            found = _held_out(split, pool, draws, known, english)
            if found is None:
                raise _too_many(split, wanted, count)
            english.add(found.pair.en)
            yield found.pair


def _turns(pattern: Pattern) -> int:
    return max((_TURNS.get(kind, 1) for _, kind in pattern.slots), default=1)


def _as_typed(pair: EverydayPair, rng: Random) -> EverydayPair:
    """Leave out the full stop of some statements, on both sides."""
    if not pair.zh.endswith("。") or not pair.en.endswith(".") or below(rng, _UNSTOPPED):
        return pair
    return pair._replace(zh=pair.zh[:-1], en=pair.en[:-1])


def _one_of_each_first(pool: list[Draw], rng: Random) -> list[Draw]:
    """Shuffle a pool to be popped from: one sentence of every combination, then the others."""
    _shuffle(pool, rng)
    first = {found.key: found for found in pool}
    others = [found for found in pool if first[found.key] is not found]
    return others + list(first.values())


def _held_out(
    split: str, pool: list[Draw], draws: _Stream, known: set[str], english: set[str]
) -> Draw | None:
    """Take the next sentence of a split that is new as a whole and known in its parts."""
    while found := pool.pop() if pool else draws.next_draw():
        fresh = found.pair.split == split and found.pair.en not in english
        if fresh and known.issuperset(found.vocabulary):
            return found
    return None


def _too_many(what: str, asked: int, possible: int) -> GrammarError:
    return GrammarError(
        f"everyday.{what}", str(asked), f"at most {possible}", "ask for fewer sentences"
    )


@dataclass(slots=True)
class _Stream:
    """Take the patterns in turn, and leave out those that are spent or have had their share."""

    sampler: _Sampler
    live: list[Pattern]
    sentences: int
    seen: set[str] = field(default_factory=set)
    made: Counter[str] = field(default_factory=Counter)
    turn: int = 0
    fair_share: int = 0

    def __post_init__(self) -> None:
        self.fair_share = 2 * self.sentences // max(len(self.live), 1)

    def next_draw(self) -> Draw | None:
        """Draw a sentence whose Chinese side is new, while there are any."""
        share = max(self.sentences // _SHARE_OF_PATTERN, self.fair_share, 20)
        while self.live:
            self.turn %= len(self.live)
            pattern = self.live[self.turn]
            found = self._attempt(pattern)
            if found and found.pair.split == "train":
                self.made[pattern.name] += 1
            if found is None or self.made[pattern.name] >= share:
                self.live = [other for other in self.live if other is not pattern]
            else:
                self.turn += 1
            if found:
                return found
        return None

    def _attempt(self, pattern: Pattern) -> Draw | None:
        for _ in range(_PATIENCE):
            found = self.sampler.draw(pattern)
            if found and found.pair.zh not in self.seen:
                self.seen.add(found.pair.zh)
                return found
        return None


def _shuffle(items: list[Draw], rng: Random) -> None:
    for index in range(len(items) - 1, 0, -1):
        other = below(rng, index + 1)
        items[index], items[other] = items[other], items[index]
