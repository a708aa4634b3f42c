"""The grammar behind the ``everyday`` corpus: words, patterns, and how they are spelled out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources

from ruamel.yaml import YAML

from hanyi.errors import HanyiError
from hanyi.starter import english
from hanyi.starter.numerals import NUMERALS

_FIELD = re.compile(r"\{([^{}]*)\}")
_RELATION = re.compile(r"(\w+)\.(obj|adj|verb|act|same|lang|gender)\b")
_PREPOSITIONS = ("in", "at", "on")
_SLOT_KINDS = {
    **dict.fromkeys("vw", ("verbs",)),
    **dict.fromkeys("abcd", ("adjectives", "adverbs")),
    **dict.fromkeys("fnoqx", ("nouns", "places")),
    "p": ("places",),
    "t": ("times",),
}
_CONTENT_KINDS = ("nouns", "verbs", "adjectives")
_PHRASES = ("vp", "vps")


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
    block: str = ""

    @property
    def fits(self) -> tuple[str, ...]:
        """The labels this word asks of the noun it goes with."""
        return tuple(self.extra.split())

    @property
    def mass(self) -> bool:
        """Whether the English noun has no plural of its own."""
        if "pl" in self.labels:
            return False
        return bool(self.counted) or not self.labels.isdisjoint(("m", "name"))


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
        found: set[int] | None = None
        for test in option.split("&"):
            excluded = test.startswith("!")
            if "." in test and owner is not None:
                matches = self._related(test.partition(".")[2], owner)
            else:
                matches = self._index.get(test.lstrip("!"), set())
                # Homographs (工作: to work, a job) are told apart by the letter of the slot.
                if not test.isascii() and slot in _SLOT_KINDS:
                    matches = matches & self._any(f"kind {kind}" for kind in _SLOT_KINDS[slot])
            if found is None:
                found = set(range(len(self.words))) if excluded else set(matches)
                found = found - matches if excluded else found
            else:
                found = found - matches if excluded else found & matches
        return found or set()

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


def verb_phrase(verb: Word, thing: Word, form: str) -> Word:
    """Join a transitive verb and a bare object, generic or not, into one word."""
    form = _object_form(form, thing, verb)
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


def _object_form(form: str, thing: Word, verb: Word) -> str:
    """Tell the form of a bare object: some verbs take it as known, as in *clean the room*."""
    if form not in ("obj", "gen"):
        return form
    if "the" in verb.labels:
        return "known"
    known = "known" in verb.labels and not thing.mass
    return "known" if known and thing.labels.isdisjoint(("s", "pl")) else form


def noun(word: Word, form: str, adjective: str = "") -> str:
    """Spell a noun in one of its forms, with an optional adjective before it."""
    lead = adjective + " " if adjective else ""
    plural_only, mass = "pl" in word.labels, word.mass
    bare = word.en if plural_only or mass else english.plural(word.en)
    count = word.counted or word.en
    if form == "known" or (form == "obj" and "the" in word.labels):
        if "name" in word.labels:
            return lead + word.en
        return "the " + lead + (bare if "s" in word.labels else word.en)
    if form == "any":
        return "any " + lead + bare if mass else english.article(lead + word.en)
    if form == "obj":
        form = "gen" if plural_only or mass or "s" in word.labels else "a"
    if form == "rel":
        return lead + (bare if "s" in word.labels else word.en)
    if form in ("gen", "these", "those"):
        if form in ("these", "those") and mass:
            form = {"these": "this", "those": "that"}[form] + " "
        return ("" if form == "gen" else form.strip() + " ") + lead + bare
    if form == "a":
        if not word.labels.isdisjoint(("m", "pl", "name")) and not word.counted:
            return lead + bare
        return english.article(lead + count)
    if form in ("this", "that", "another", "each", "which", "one", "unit"):
        return ("" if form == "unit" else form + " ") + lead + count
    if form == "units":
        return english.plural(lead + count)
    if form in ("thisis", "thatis", "thisisnt", "isthis", "thisisrel"):
        several = plural_only or (form == "thisisrel" and "s" in word.labels)
        return _DEMONSTRATIVE[form.removesuffix("rel"), "pl" if several else "sg"]
    if form == "take":
        return english.article(word.en) if "the" not in word.labels else "the " + word.en
    if form == "less":
        return ("less " if mass else "fewer ") + lead + bare
    if form == "much":
        return ("much " if mass else "many ") + lead + bare
    if form == "pls":
        return lead + bare
    if form == "per":
        unit = count.partition(" of ")[0] if mass or word.counted else word.en
        return english.article(unit.rpartition(" ")[2] if word.counted else "piece")
    if form == "the" and "name" in word.labels:
        return lead + word.en
    if form not in ("", "the", "my"):
        raise _fault(word.zh, f"form {form}", "a form of a noun")
    return ("the " if form == "the" else "") + lead + word.en


def _place(word: Word, form: str) -> str:
    name = word.en if not word.labels.isdisjoint(("name", "bare")) else "the " + word.en
    if word.en in ("home", "online", "upstairs", "downstairs"):
        bare = {"to": word.en, "at": "at home" if word.en == "home" else word.en}
        return bare.get(form, "home" if form == "from" else word.en)
    if form == "at":
        return next(p for p in _PREPOSITIONS if p in word.labels) + " " + name
    return f"{form} {name}"


def _person(word: Word, arguments: tuple[str, ...]) -> str:
    """Return the grammatical person of a subject: of a noun in the given form, or a number."""
    if word.kind == "people":
        return word.extra
    if word.kind == "numbers":
        return "3s" if word.number == 1 else "p"
    form = arguments[1] if len(arguments) > 1 else "the"
    bare = form == "gen" or form == "rel" and "s" in word.labels
    generic = bare and not word.mass and "name" not in word.labels
    several = "pl" in word.labels and form not in ("this", "that", "unit", "another", "each")
    return "p" if generic or several else "3s"


_VERB_FORMS = frozenset(("base", "pres", "past", "pp", "ing", "neg", "pastneg"))


def spell(piece: tuple[str, str, tuple[str, ...]], chosen: Mapping[str, Word]) -> str:
    """Spell one field of an English template."""
    head, form, arguments = piece
    word = chosen.get(head)
    if word is None or word.kind == "verbs":
        subject = chosen.get(arguments[0]) if arguments else None
        person = _person(subject, arguments) if subject else "3s"
        if form == "to":
            return word.en[3:] if word and word.en.startswith("go ") else f"to {word.en}"
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
        if (verb := chosen.get("v")) and verb.kind == "verbs" and verb.extra:
            form = _object_form(form, word, verb)
        return noun(word, form, " ".join(_spelled(chosen, name) for name in arguments))
    return word.en


def _spelled(chosen: Mapping[str, Word], name: str) -> str:
    slot, _, form = name.partition(".")
    return spell((slot, form, ()), chosen)


def _counted(word: Word, form: str, arguments: tuple[str, ...], chosen: Mapping[str, Word]) -> str:
    if form == "times":
        return {1: "once", 2: "twice"}.get(word.number, word.en + " times")
    if form != "n":
        return word.en
    lead = "".join(_spelled(chosen, name) + " " for name in arguments[1:])
    thing = chosen[arguments[0]]
    if word.number == 1:
        return noun(thing, "a", lead.strip())
    return f"{word.en} {noun(thing, 'units', lead.strip())}"


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
    if piece[1] == "not":
        return "没" + word.zh if word.zh[0] == "有" else "不" + word.zh
    if piece[1] == "ab":
        return "有没" + word.zh if word.zh[0] == "有" else f"{word.zh[0]}不{word.zh}"
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
    words = [
        word
        for (folder, kind), content in files.items()
        if folder == "lexicon"
        for word in _words(kind, content)
    ]
    words.extend(_composites(words))
    grammar = Grammar(words, {name: _mix(text) for name, text in mixes.items()})
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
            word = Word(zh, en, kind, fields[1], labels, counted, (zh,))
            word = replace(word, hosts=tuple(fields[3].split()), block=head)
            if kind == "nouns" and not fields[1] and "name" not in labels:
                raise _fault(f"lexicon entry {zh}", "no measure word", "one")
            yield word


_OWNERS = {"我": {"mine"}, "你": {"yours"}, "他": {"theirs", "of_he"}, "她": {"theirs", "of_she"}}


def _composites(words: list[Word]) -> list[Word]:
    """Build 我妈妈 (owner and relative) and 王老师 (surname and title)."""
    made = []
    for word in words:
        if word.kind == "relatives":
            for owner in words:
                if "owner" not in owner.labels or f"not_{owner.zh}" in word.labels:
                    continue
                yours = _OWNERS[owner.zh]
                made.append(
                    Word(
                        owner.zh + word.zh,
                        f"{owner.en.split('/')[2]} {word.en}",
                        "people",
                        "3s",
                        word.labels - {"relatives", word.zh} | {"kin", "single"} | yours,
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
                    word.labels - {word.zh} | {"titled", "single"},
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
