"""How chosen words are spelled out in the fields of a pattern, in each language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hanyi.starter import english
from hanyi.starter.words import Word, fault

VERB_FORMS = frozenset(("base", "pres", "past", "pp", "ing", "neg", "pastneg", "to"))
"""The forms in which a pattern may inflect an English verb that it writes itself."""

Field = tuple[str, str, tuple[str, ...]]
"""A slot (or an English verb), the form wanted, and the slots it depends on."""

# A form of a noun: what goes before it, and which shape of it. The shapes: word (tea, apple),
# bare (tea, apples), count (cup of tea, apple), counts (cups of tea, apples), known (tea, apple,
# but plural where a bare Chinese object is).
_FORMS = {
    "": ("", "word"),
    "my": ("", "word"),
    "the": ("the ", "word"),
    "known": ("the ", "known"),
    "rel": ("", "known"),
    "gen": ("", "bare"),
    "pls": ("", "bare"),
    "these": ("these ", "bare"),
    "those": ("those ", "bare"),
    "much": ("many ", "bare"),
    "less": ("fewer ", "bare"),
    "this": ("this ", "count"),
    "that": ("that ", "count"),
    "which": ("which ", "count"),
    "unit": ("", "count"),
    "units": ("", "counts"),
}
_MASS = {"these": "this ", "those": "that ", "much": "much ", "less": "less "}
_COUNTED_FORMS = ("this", "that", "which", "unit")
_BE = {
    "thisis": ("this is", "these are"),
    "thatis": ("that is", "those are"),
    "thisisnt": ("this isn't", "these aren't"),
    "isthis": ("is this", "are these"),
    "thisisrel": ("this is", "these are"),
}
# Adjectives that stand right before a noun in Chinese: 大房子, but 贵的房子.
_DIRECT = frozenset("大小新旧好坏长短高红白黑蓝绿黄冷热厚薄")
_ADVERBS_OF_PLACE = ("home", "online", "upstairs", "downstairs")
_PREPOSITIONS = ("in", "at", "on")


@dataclass(frozen=True, slots=True)
class Template:
    """A pattern side, cut into literal text and fields."""

    pieces: tuple[str | Field, ...]

    @property
    def fields(self) -> list[Field]:
        """The fields, without the text between them."""
        return [piece for piece in self.pieces if not isinstance(piece, str)]


def render(template: Template, chosen: Mapping[str, Word], *, chinese: bool) -> str:
    """Fill a template with the chosen words."""
    write = _hanzi if chinese else spell
    text = "".join(
        piece if isinstance(piece, str) else write(piece, chosen) for piece in template.pieces
    )
    return text if chinese else english.sentence(text)


def _hanzi(piece: Field, chosen: Mapping[str, Word]) -> str:
    word, form = chosen[piece[0]], piece[1]
    have = word.zh.startswith("有")
    spelled = {
        "m": word.extra,
        "not": ("没" if have else "不") + word.zh,
        "ab": f"有没{word.zh}" if have else f"{word.zh[0]}不{word.zh}",
        "de": word.zh if word.zh in _DIRECT else word.zh + "的",
    }
    if form == "pro" and not word.labels.isdisjoint(("he", "she")):
        return "他" if "he" in word.labels else "她"
    return spelled.get(form, word.zh)


def spell(piece: Field, chosen: Mapping[str, Word]) -> str:
    """Spell one field of an English template."""
    head, form, arguments = piece
    word = chosen.get(head)
    if word is None:
        return english.verb(head.lower(), form, _agreement(arguments, chosen))
    if word.kind in _SPELLERS:
        return _SPELLERS[word.kind](word, form)
    dependent = _DEPENDENT.get(word.kind)
    return dependent(word, form, arguments, chosen) if dependent else word.en


def _agreement(arguments: tuple[str, ...], chosen: Mapping[str, Word]) -> str:
    """Return the grammatical person of a subject: of a noun in the given form, or a number."""
    word = chosen.get(arguments[0]) if arguments else None
    if word is None:
        return "3s"
    if word.kind == "people":
        return word.extra
    if word.kind == "numbers":
        return "3s" if word.number == 1 else "p"
    form = arguments[1] if len(arguments) > 1 else "the"
    if "pl" in word.labels:
        return "3s" if form in _COUNTED_FORMS else "p"
    several = (form == "gen" and "the" not in word.labels) or (form == "rel" and "s" in word.labels)
    return "p" if several and not word.mass else "3s"


def _verb(word: Word, form: str, arguments: tuple[str, ...], chosen: Mapping[str, Word]) -> str:
    if form == "to":
        return word.en[3:] if word.en.startswith("go ") else f"to {word.en}"
    return english.verb(word.en, form or "base", _agreement(arguments, chosen))


def _person(word: Word, form: str) -> str:
    forms = word.en.split("/")
    if form.startswith("pro") and not word.labels.isdisjoint(("he", "she")):
        male = "he" in word.labels
        return ("he" if male else "she") if form == "pro" else ("his" if male else "her")
    if len(forms) > 1:
        return forms[{"obj": 1, "poss": 2, "pro_poss": 2, "mine": 3}.get(form, 0)]
    if form in ("poss", "pro_poss", "mine"):
        return word.en + "'s"
    return word.en


def _adjective(word: Word, form: str) -> str:
    if form == "an":
        return english.article(word.en)
    if form == "more":
        more = english.compare(word.en, "er")
        return more.replace("more ", "more and more ") if " " in more else f"{more} and {more}"
    return english.compare(word.en, form) if form in ("er", "est") else word.en


def _number(word: Word, form: str, arguments: tuple[str, ...], chosen: Mapping[str, Word]) -> str:
    if form == "times":
        return {1: "once", 2: "twice"}.get(word.number, word.en + " times")
    if form != "n":
        return word.en
    thing = chosen[arguments[0]]
    lead = " ".join(_argument(chosen, name) for name in arguments[1:])
    if word.number == 1:
        return noun(thing, "a", lead)
    return f"{word.en} {noun(thing, 'units', lead)}"


def _thing(word: Word, form: str, arguments: tuple[str, ...], chosen: Mapping[str, Word]) -> str:
    if form in ("at", "to", "from"):
        return place(word, form)
    verb = chosen.get("v")
    if verb is not None and verb.kind == "verbs" and verb.extra:
        form = object_form(form, word, verb)
    return noun(word, form, " ".join(_argument(chosen, name) for name in arguments))


def _argument(chosen: Mapping[str, Word], name: str) -> str:
    slot, _, form = name.partition(".")
    return spell((slot, form, ()), chosen)


def place(word: Word, form: str) -> str:
    """Spell a place after ``at``, ``to`` or ``from``; ``at`` takes the place's own preposition."""
    if word.en in _ADVERBS_OF_PLACE:
        return "at home" if (word.en, form) == ("home", "at") else word.en
    name = word.en if not word.labels.isdisjoint(("name", "bare")) else "the " + word.en
    if form == "at":
        form = next(preposition for preposition in _PREPOSITIONS if preposition in word.labels)
    return f"{form} {name}"


def object_form(form: str, thing: Word, verb: Word) -> str:
    """Tell the form of a bare object: some verbs take it as known, as in *clean the room*."""
    if form not in ("obj", "gen"):
        return form
    if "the" in verb.labels:
        return "known"
    countable = not thing.mass and thing.labels.isdisjoint(("s", "pl"))
    return "known" if "known" in verb.labels and countable else form


def noun(word: Word, form: str, adjective: str = "") -> str:
    """Spell a noun in one of its forms, with an optional adjective before it."""
    lead = adjective + " " if adjective else ""
    if form == "obj" or (form == "gen" and "the" in word.labels):
        form = _bare_object(word)
    if form in _BE:
        several = "pl" in word.labels or (form == "thisisrel" and "s" in word.labels)
        return _BE[form][several]
    if form in ("a", "any", "some", "take", "per"):
        return _indefinite(word, form, lead)
    if form not in _FORMS:
        raise fault(f"lexicon entry {word.zh}", f"form {form}", "a form of a noun")
    before, shape = _FORMS[form]
    if word.mass:
        before = _MASS.get(form, before)
    if "name" in word.labels and form in ("the", "known"):
        before = ""
    return before + _shape(word, shape, lead)


def _bare_object(word: Word) -> str:
    if "the" in word.labels:
        return "known"
    return "gen" if word.mass or not word.labels.isdisjoint(("s", "pl")) else "a"


def _shape(word: Word, shape: str, lead: str) -> str:
    count = lead + (word.counted or word.en)
    if shape in ("count", "counts"):
        return english.plural(count) if shape == "counts" else count
    single = word.mass or "pl" in word.labels or shape == "word"
    single = single or (shape == "known" and "s" not in word.labels)
    return lead + (word.en if single else english.plural(word.en))


def _indefinite(word: Word, form: str, lead: str) -> str:
    if form == "per":
        unit = word.counted.partition(" of ")[0].rpartition(" ")[2]
        return english.article(unit) if unit else "each"
    if form == "take" and "the" in word.labels:
        return "the " + word.en
    if form in ("any", "some") and (word.mass or "pl" in word.labels):
        return f"{form} {lead}{word.en}"
    uncounted = not word.counted and not word.labels.isdisjoint(("m", "pl", "name"))
    if uncounted:
        return lead + word.en
    return english.article(lead + (word.counted or word.en))


_SPELLERS = {"people": _person, "adjectives": _adjective}
_DEPENDENT = {
    "verbs": _verb,
    "numbers": _number,
    "nouns": _thing,
    "places": _thing,
    "relatives": _thing,
}
