"""The grammar behind the ``everyday`` corpus: its words, mixes of words, and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources

from ruamel.yaml import YAML

from hanyi.starter.numerals import NUMERALS
from hanyi.starter.spelling import VERB_FORMS, Field, Template
from hanyi.starter.words import Word, composites, fault, read_words

_FIELD = re.compile(r"\{([^{}]*)\}")
_RELATION = re.compile(r"(\w+)\.(obj|adj|verb|act|same|lang|gender)\b")
_SLOT_KINDS = {
    **dict.fromkeys("vw", ("verbs",)),
    **dict.fromkeys("abcd", ("adjectives", "adverbs")),
    **dict.fromkeys("fnoqx", ("nouns", "places")),
    "p": ("places",),
    "t": ("times",),
}
_PHRASES = ("vp", "vps")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A sentence pattern: named slots, and one template per language."""

    name: str
    slots: tuple[tuple[str, str], ...]
    zh: Template
    en: Template


@dataclass(slots=True)
class Grammar:
    """All words, mixes of word classes, and patterns."""

    words: list[Word]
    mixes: dict[str, list[tuple[str, float]]]
    patterns: list[Pattern] = field(default_factory=list)
    _index: dict[str, set[int]] = field(default_factory=dict)
    _cache: dict[tuple[str, str, int], tuple[Word, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index the words by label, kind, block, and the labels that they ask of nouns."""
        for position, word in enumerate(self.words):
            keys = {*word.labels, f"block {word.block}", f"kind {word.kind}"}
            for key in keys | {f"{word.kind} for {label}" for label in word.fits}:
                self._index.setdefault(key, set()).add(position)

    def choices(self, kind: str, chosen: Mapping[str, Word], slot: str = "") -> tuple[Word, ...]:
        """List the words that may fill a slot, given the slots filled before it.

        ``kind`` joins alternatives with ``|`` and conditions with ``&``; ``!x`` excludes label
        x, ``v.obj`` asks for nouns that suit verb or adjective v, ``n.adj`` and ``n.verb`` for
        the adjectives and verbs that suit noun n, ``p.act`` for what one does at place p,
        ``p.lang`` for the language spoken there, ``n.same`` for words listed beside n,
        ``s.gender`` for names that suit person s.
        """
        relation = _RELATION.search(kind)
        owner = chosen[relation.group(1)] if relation else None
        key = (kind, slot[:1], id(owner))
        if key not in self._cache:
            found: set[int] = set()
            for option in kind.split("|"):
                found |= self._option(option, owner, slot[:1])
            self._cache[key] = tuple(self.words[position] for position in sorted(found))
        return self._cache[key]

    def _option(self, option: str, owner: Word | None, slot: str) -> set[int]:
        found = set(range(len(self.words)))
        for test in option.split("&"):
            if test.startswith("!"):
                found -= self._index.get(test[1:], set())
            elif "." in test and owner is not None:
                found &= self._related(test.partition(".")[2], owner)
            else:
                found &= self._index.get(test, set())
                # Homographs (工作: to work, a job) are told apart by the letter of the slot.
                if not test.isascii() and slot in _SLOT_KINDS:
                    found &= self._any(f"kind {kind}" for kind in _SLOT_KINDS[slot])
        return found

    def _related(self, relation: str, owner: Word) -> set[int]:
        if relation == "same":
            return self._any((f"block {owner.block}",))
        if relation == "gender":
            genders = owner.labels & {"he", "she"} or {"he", "she"}
            return self._any(genders) & self._any(("person_name",))
        if relation in ("obj", "lang"):
            labels = owner.fits if relation == "obj" else owner.hosts
            return self._any(labels) & self._any(("kind nouns", "kind places"))
        if relation == "act":
            return self._any(owner.hosts) & self._any(("kind verbs",))
        wanted = "adjectives" if relation == "adj" else "verbs"
        return self._any(f"{wanted} for {label}" for label in owner.labels)

    def _any(self, keys: Iterable[str]) -> set[int]:
        return set().union(*(self._index.get(key, set()) for key in keys))


@lru_cache(maxsize=1)
def load() -> Grammar:
    """Read the grammar that ships with the package, and check it."""
    reader = YAML(typ="safe", pure=True)
    root = resources.files("hanyi.starter")
    files = {
        (folder, item.name.removesuffix(".yaml")): reader.load(item.read_text("utf-8"))
        for folder in ("lexicon", "patterns")
        for item in sorted(root.joinpath(folder).iterdir(), key=lambda item: item.name)
        if item.name.endswith(".yaml")
    }
    mixes = {name: _mix(text) for name, text in files.pop(("lexicon", "mixes")).items()}
    words: list[Word] = []
    for (folder, kind), content in files.items():
        words.extend(read_words(kind, content) if folder == "lexicon" else ())
    words.extend(composites(words.copy()))
    labels = _check_words(words)
    grammar = Grammar(words, mixes)
    for (folder, topic), content in files.items():
        if folder == "patterns":
            grammar.patterns.extend(read_patterns(topic, content, {*labels, *mixes, *NUMERALS}))
    return grammar


def _mix(text: str) -> list[tuple[str, float]]:
    pairs = [part.strip().rpartition("*") for part in text.split(",")]
    return [(kind.strip(), float(weight)) for kind, _, weight in pairs]


def _check_words(words: list[Word]) -> set[str]:
    labels = {label for word in words for label in word.labels}
    for word in words:
        asked = set(word.fits) if word.kind in ("verbs", "adjectives") else set()
        if unknown := sorted((asked | set(word.hosts)) - labels):
            raise fault(f"lexicon entry {word.zh}", f"class {unknown[0]}", "a known one")
    return labels


def read_patterns(
    topic: str, content: Mapping[str, Mapping[str, str]], known: set[str]
) -> Iterator[Pattern]:
    """Read one pattern file, and check it against the known labels, mixes and numerals."""
    for name, body in content.items():
        where = f"pattern {topic}/{name}"
        if set(body) - {"zh", "en", "with"} or not {"zh", "en"} <= set(body):
            raise fault(where, f"fields {sorted(body)}", "zh and en, perhaps with")
        slots = dict(_slot(where, item) for item in str(body.get("with", "")).split())
        for kind in slots.values():
            _check_kind(where, kind, known, slots)
        pattern = Pattern(
            f"{topic}/{name}", tuple(slots.items()), _template(body["zh"]), _template(body["en"])
        )
        _check_fields(where, pattern, slots)
        yield pattern


def _slot(where: str, item: str) -> tuple[str, str]:
    name, equals, kind = item.partition("=")
    if not equals:
        raise fault(where, f"slot {item}", "slot=class")
    return name, kind


def _check_kind(where: str, kind: str, known: set[str], slots: dict[str, str]) -> None:
    for test in re.split(r"[|&]", kind):
        name = test.lstrip("!")
        relation = _RELATION.fullmatch(name)
        if relation and relation.group(1) in slots:
            continue
        if name not in known and name not in _PHRASES:
            raise fault(where, f"class {name}", "a known one")


def _check_fields(where: str, pattern: Pattern, slots: dict[str, str]) -> None:
    for head, _, _ in pattern.zh.fields:
        if head not in slots:
            raise fault(where, f"field {head}", "a slot")
    for head, form, arguments in pattern.en.fields:
        if head not in slots and form not in VERB_FORMS:
            raise fault(where, f"field {head}", "a slot, or a verb in one of its forms")
        if arguments and arguments[0].partition(".")[0] not in slots:
            raise fault(where, f"argument {arguments[0]}", "a slot")


def _template(text: str) -> Template:
    pieces: list[str | Field] = []
    for index, part in enumerate(_FIELD.split(text)):
        if index % 2 == 0:
            if part:
                pieces.append(part)
            continue
        name, _, tail = part.partition(":")
        head, _, form = name.partition(".")
        pieces.append((head, form, tuple(tail.split(",")) if tail else ()))
    return Template(tuple(pieces))
