"""The grammar behind the ``everyday`` corpus: words, patterns, and how they are spelled out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources

from ruamel.yaml import YAML

from hanyi.errors import HanyiError
from hanyi.starter import english
from hanyi.starter.numerals import NUMERALS

_FIELD = re.compile(r"\{([^{}]*)\}")
_RELATION = re.compile(r"(\w+)\.(obj|adj|verb|act)\b")
_PREPOSITIONS = ("in", "at", "on")
_CONTENT_KINDS = ("nouns", "verbs", "adjectives")
_PHRASES = ("vp",)


class GrammarError(HanyiError):
    """A fault in the grammar's data, or a demand that it cannot meet."""


def _fault(where: str, found: str, expected: str) -> GrammarError:
    return GrammarError(where, found, expected, "mend the grammar's YAML files")


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """One lexicon entry, or a phrase built from several.

    ``extra`` is the second field of the entry: a noun's measure word, the labels of the objects
    a verb takes or of the nouns an adjective fits, a person's grammatical person.
    """

    zh: str
    en: str
    kind: str
    extra: str = ""
    labels: frozenset[str] = frozenset()
    counted: str = ""
    parts: tuple[str, ...] = ()
    number: int = 1
    hosts: tuple[str, ...] = ()

    @property
    def fits(self) -> tuple[str, ...]:
        """The labels this word asks of the noun it goes with."""
        return tuple(self.extra.split())

    @property
    def mass(self) -> bool:
        """Whether the English noun has no plural of its own."""
        return "m" in self.labels or bool(self.counted) and "pl" not in self.labels


@dataclass(frozen=True, slots=True)
class Template:
    """A pattern side, cut into literal text and (slot, form, arguments) fields."""

    pieces: tuple[str | tuple[str, str, tuple[str, ...]], ...]


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
    _cache: dict[tuple[str, int], tuple[Word, ...]] = field(default_factory=dict)

    def choices(self, kind: str, chosen: Mapping[str, Word]) -> tuple[Word, ...]:
        """List the words that may fill a slot, given the slots filled before it.

        ``kind`` joins alternatives with ``|`` and conditions with ``&``; ``!x`` excludes label
        x, ``v.obj`` asks for nouns that suit verb or adjective v, ``n.adj`` and ``n.verb`` for
        the adjectives and verbs that suit noun n, ``p.act`` for what one does at place p.
        """
        relation = _RELATION.search(kind)
        owner = chosen[relation.group(1)] if relation else None
        key = (kind, id(owner))
        if key not in self._cache:
            self._cache[key] = tuple(
                word
                for word in self.words
                if any(
                    all(_meets(word, test.strip(), owner) for test in option.split("&"))
                    for option in kind.split("|")
                )
            )
        return self._cache[key]


def _meets(word: Word, test: str, owner: Word | None) -> bool:
    if test.startswith("!"):
        return test[1:] not in word.labels
    if "." not in test or owner is None:
        return test in word.labels
    relation = test.partition(".")[2]
    if relation == "obj":
        return word.kind in ("nouns", "places") and not word.labels.isdisjoint(owner.fits)
    if relation == "act":
        return word.kind == "verbs" and not word.labels.isdisjoint(owner.hosts)
    wanted = "adjectives" if relation == "adj" else "verbs"
    return word.kind == wanted and not owner.labels.isdisjoint(word.fits)


def verb_phrase(verb: Word, thing: Word) -> Word:
    """Join a transitive verb and a bare object into one word."""
    form = "the" if "the" in verb.labels else "obj"
    return Word(
        zh=verb.zh + thing.zh,
        en=f"{verb.en} {noun(thing, form)}",
        kind="verbs",
        labels=verb.labels,
        parts=(verb.zh, thing.zh),
    )


_DEMONSTRATIVE = {
    ("thisis", "sg"): "this is",
    ("thisis", "pl"): "these are",
    ("thatis", "sg"): "that is",
    ("thatis", "pl"): "those are",
    ("thisisnt", "sg"): "this isn't",
    ("thisisnt", "pl"): "these aren't",
    ("isthis", "sg"): "is this",
    ("isthis", "pl"): "are these",
}


def noun(word: Word, form: str, adjective: str = "") -> str:
    """Spell a noun in one of its forms, with an optional adjective before it."""
    lead = adjective + " " if adjective else ""
    plural_only, mass = "pl" in word.labels, word.mass
    bare = word.en if plural_only or mass else english.plural(word.en)
    count = word.counted or word.en
    if form == "obj":
        form = (
            "the"
            if "the" in word.labels
            else "gen"
            if plural_only or mass or "s" in word.labels
            else "a"
        )
    if form == "rel":
        return lead + (bare if "s" in word.labels else word.en)
    if form in ("gen", "these", "those", "some", "my"):
        if form in ("these", "those") and mass:
            form = {"these": "this", "those": "that"}[form] + " "
        return ("" if form in ("gen", "my") else form.strip() + " ") + lead + bare
    if form == "a":
        if not word.labels.isdisjoint(("m", "pl", "name")) and not word.counted:
            return lead + bare
        return english.article(lead + count)
    if form in ("this", "that", "another", "each", "which", "one", "unit"):
        return ("" if form == "unit" else form + " ") + lead + count
    if form == "units":
        return english.plural(lead + count)
    if form in ("thisis", "thatis", "thisisnt", "isthis"):
        kind = "pl" if plural_only else "sg"
        return _DEMONSTRATIVE[form, kind]
    if form == "take":
        return english.article(word.en) if "the" not in word.labels else "the " + word.en
    if form == "much":
        return ("much " if mass else "many ") + lead + bare
    if form == "pls":
        return lead + bare
    if form == "per":
        unit = count.partition(" of ")[0] if mass or word.counted else word.en
        return english.article(unit.rpartition(" ")[2] if word.counted else "piece")
    if form == "the" and not word.labels.isdisjoint(("name", "bare")):
        return lead + word.en
    return ("the " if form == "the" else "") + lead + word.en


def _place(word: Word, form: str) -> str:
    name = word.en if not word.labels.isdisjoint(("name", "bare")) else "the " + word.en
    if word.en in ("home", "abroad", "upstairs", "downstairs"):
        bare = {"to": word.en, "at": "at home" if word.en == "home" else word.en}
        return bare.get(form, "home" if form == "from" else word.en)
    if form == "at":
        return next(p for p in _PREPOSITIONS if p in word.labels) + " " + name
    return f"{form} {name}"


def _person(word: Word, arguments: tuple[str, ...], chosen: Mapping[str, Word]) -> str:
    """Return the grammatical person of a subject: of a noun in the given form, or a number."""
    if word.kind == "people":
        return word.extra
    if word.kind == "numbers":
        return "3s" if word.number == 1 else "p"
    form = arguments[1] if len(arguments) > 1 else "the"
    bare = form == "gen" or form == "rel" and "s" in word.labels
    generic = bare and not word.mass and "name" not in word.labels
    return "p" if generic or "pl" in word.labels and form not in ("this", "unit") else "3s"


_VERB_FORMS = frozenset(("base", "pres", "past", "pp", "ing", "neg", "pastneg"))


def spell(piece: tuple[str, str, tuple[str, ...]], chosen: Mapping[str, Word]) -> str:
    """Spell one field of an English template."""
    head, form, arguments = piece
    word = chosen.get(head)
    if word is None or word.kind == "verbs":
        subject = chosen.get(arguments[0]) if arguments else None
        person = _person(subject, arguments, chosen) if subject else "3s"
        return english.verb(word.en if word else head.lower(), form or "base", person)
    if word.kind == "people":
        return _people_form(word, form)
    if word.kind == "adjectives":
        if form == "an":
            return english.article(word.en)
        if form == "more":
            more = english.compare(word.en, "er")
            return more.replace("more ", "more and more ") if " " in more else f"{more} and {more}"
        return english.compare(word.en, form) if form in ("er", "est") else word.en
    if word.kind == "numbers":
        return _counted(word, form, arguments, chosen)
    if word.kind in _CONTENT_KINDS or word.kind == "places":
        if form in ("at", "to", "from"):
            return _place(word, form)
        return noun(word, form, " ".join(_spelled(chosen, name) for name in arguments))
    return word.en


def _spelled(chosen: Mapping[str, Word], name: str) -> str:
    slot, _, form = name.partition(".")
    return spell((slot, form, ()), chosen)


def _counted(
    word: Word, form: str, arguments: tuple[str, ...], chosen: Mapping[str, Word]
) -> str:
    if form == "times":
        return {1: "once", 2: "twice"}.get(word.number, word.en + " times")
    if form != "n":
        return word.en
    lead = "".join(_spelled(chosen, name) + " " for name in arguments[1:])
    return f"{word.en} {noun(chosen[arguments[0]], 'units' if word.number > 1 else 'unit', lead.strip())}"


def _people_form(word: Word, form: str) -> str:
    if form in ("pro", "pro_poss"):
        if word.labels.isdisjoint(("he", "she")):
            return _people_form(word, form.removeprefix("pro").strip("_"))
        male = "he" in word.labels
        return {"pro": "he" if male else "she", "pro_poss": "his" if male else "her"}[form]
    forms = word.en.split("/")
    if form == "obj":
        return forms[1] if len(forms) > 1 else forms[0]
    if form in ("poss", "mine"):
        if len(forms) > 1:
            return forms[2] if form == "poss" else forms[3]
        return word.en + ("'" if word.en.endswith("s") and word.extra == "p" else "'s")
    return forms[0]


def render(template: Template, chosen: Mapping[str, Word], *, chinese: bool) -> str:
    """Fill a template with the chosen words."""
    pieces = (
        piece if isinstance(piece, str) else (_hanzi if chinese else spell)(piece, chosen)
        for piece in template.pieces
    )
    return "".join(pieces) if chinese else english.sentence("".join(pieces))


def _hanzi(piece: tuple[str, str, tuple[str, ...]], chosen: Mapping[str, Word]) -> str:
    word = chosen[piece[0]]
    if piece[1] == "m":
        return word.extra
    if piece[1] == "pro" and not word.labels.isdisjoint(("he", "she")):
        return "他" if "he" in word.labels else "她"
    if piece[1] == "de":
        return word.zh if len(word.zh) == 1 else word.zh + "的"
    return word.zh


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
    mixes = files.pop(("lexicon", "mixes"))
    grammar = Grammar([], {name: _mix(text) for name, text in mixes.items()})
    for (folder, kind), content in files.items():
        if folder == "lexicon":
            grammar.words.extend(_words(kind, content))
    grammar.words.extend(_composites(grammar.words))
    labels = {label for word in grammar.words for label in word.labels}
    for word in grammar.words:
        if word.kind in ("verbs", "adjectives") and (unknown := set(word.fits) - labels):
            raise _fault(f"lexicon entry {word.zh}", f"class {sorted(unknown)[0]}", "a known one")
    for (folder, topic), content in files.items():
        if folder == "patterns":
            grammar.patterns.extend(_patterns(topic, content, grammar, labels))
    return grammar


def _mix(text: str) -> list[tuple[str, float]]:
    pairs = [part.strip().rpartition("*") for part in text.split(",")]
    return [(kind.strip(), float(weight)) for kind, _, weight in pairs]


def _words(kind: str, content: Mapping[str, Mapping[str, str]]) -> Iterator[Word]:
    for head, entries in content.items():
        common = frozenset(head.split())
        for zh, text in entries.items():
            fields = [part.strip() for part in text.split("|")] + [""] * 3
            en, _, counted = fields[0].partition("=")
            labels = common | frozenset(fields[2].split()) | {kind}
            labels |= {zh} if kind != "people" else set()
            if not labels.isdisjoint(("he", "she")):
                labels |= {"gendered"}
            word = Word(zh, en, kind, fields[1], labels, counted, (zh,), hosts=tuple(fields[3].split()))
            if kind == "nouns" and not fields[1] and "name" not in labels:
                raise _fault(f"lexicon entry {zh}", "no measure word", "one")
            yield word


def _composites(words: list[Word]) -> list[Word]:
    """Build 我妈妈 (owner and relative) and 王老师 (surname and title)."""
    made = []
    for word in words:
        if word.kind == "relatives":
            for owner in words:
                if "owner" not in owner.labels or f"not_{owner.zh}" in word.labels:
                    continue
                yours = {"我": {"mine"}, "你": {"yours"}}.get(owner.zh, {"theirs"})
                made.append(
                    Word(
                        owner.zh + word.zh,
                        f"{owner.en.split('/')[2]} {word.en}",
                        "people",
                        "3s",
                        word.labels - {"relatives"} | {"kin", "single"} | yours,
                        parts=(word.zh,),
                    )
                )
        elif word.kind == "titles":
            made += [
                Word(
                    name.zh + word.zh if "before" not in word.labels else word.zh + name.zh,
                    f"{word.en} {name.en}",
                    "people",
                    "3s",
                    word.labels | {"titled", "single"},
                    parts=(word.zh, name.zh),
                )
                for name in words
                if name.kind == "surnames"
            ]
        elif word.kind == "nouns" and "role" in word.labels:
            labels = frozenset(("rolled", "people", "single"))
            made.append(Word(word.zh, f"the {word.en}", "people", "3s", labels, parts=(word.zh,)))
    return made


def _patterns(
    topic: str, content: Mapping[str, Mapping[str, str]], grammar: Grammar, labels: set[str]
) -> Iterator[Pattern]:
    for name, body in content.items():
        where = f"pattern {topic}/{name}"
        if set(body) - {"zh", "en", "with"} or not {"zh", "en"} <= set(body):
            raise _fault(where, f"fields {sorted(body)}", "zh and en, perhaps with")
        slots = tuple(_slot(where, item) for item in str(body.get("with", "")).split())
        for _, kind in slots:
            _check_kind(where, kind, grammar, labels, dict(slots))
        zh, en = _template(body["zh"]), _template(body["en"])
        for piece in zh.pieces:
            if not isinstance(piece, str) and piece[0] not in dict(slots):
                raise _fault(where, f"field {piece[0]}", "a slot")
        for piece in en.pieces:
            if not isinstance(piece, str) and piece[0] not in dict(slots):
                if piece[1] not in _VERB_FORMS:
                    raise _fault(where, f"field {piece[0]}", "a slot")
        yield Pattern(f"{topic}/{name}", slots, zh, en)


def _slot(where: str, item: str) -> tuple[str, str]:
    name, equals, kind = item.partition("=")
    if not equals:
        raise _fault(where, f"slot {item}", "slot=class")
    return name, kind


def _check_kind(
    where: str, kind: str, grammar: Grammar, labels: set[str], slots: dict[str, str]
) -> None:
    for test in re.split(r"[|&]", kind):
        name = test.lstrip("!").partition("!")[0]
        owner, dot, _ = name.partition(".")
        known = owner in slots if dot else name in labels
        alone = name == kind and (name in grammar.mixes or name in NUMERALS)
        if not (known or alone or name in _PHRASES):
            raise _fault(where, f"class {name}", "a known one")


def _template(text: str) -> Template:
    pieces: list[str | tuple[str, str, tuple[str, ...]]] = []
    for index, part in enumerate(_FIELD.split(text)):
        if index % 2 == 0:
            if part:
                pieces.append(part)
            continue
        name, _, tail = part.partition(":")
        head, _, form = name.partition(".")
        pieces.append((head, form, tuple(tail.split(",")) if tail else ()))
    return Template(tuple(pieces))


Chooser = Callable[[tuple[Word, ...]], Word]
"""Picks one word out of a slot's choices."""
