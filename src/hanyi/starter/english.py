"""English morphology: just enough inflection for the everyday grammar."""

from __future__ import annotations

import re
from functools import cache


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_IRREGULAR = {
    "be": "was been",
    "become": "became become",
    "begin": "began begun",
    "blow": "blew blown",
    "break": "broke broken",
    "bring": "brought brought",
    "build": "built built",
    "buy": "bought bought",
    "catch": "caught caught",
    "choose": "chose chosen",
    "come": "came come",
    "cut": "cut cut",
    "do": "did done",
    "draw": "drew drawn",
    "drink": "drank drunk",
    "drive": "drove driven",
    "eat": "ate eaten",
    "fall": "fell fallen",
    "feed": "fed fed",
    "feel": "felt felt",
    "find": "found found",
    "fly": "flew flown",
    "forget": "forgot forgotten",
    "get": "got gotten",
    "give": "gave given",
    "go": "went gone",
    "grow": "grew grown",
    "hang": "hung hung",
    "have": "had had",
    "hear": "heard heard",
    "hit": "hit hit",
    "hold": "held held",
    "keep": "kept kept",
    "know": "knew known",
    "leave": "left left",
    "lend": "lent lent",
    "lie": "lay lain",
    "lose": "lost lost",
    "make": "made made",
    "mean": "meant meant",
    "meet": "met met",
    "overcome": "overcame overcome",
    "pay": "paid paid",
    "put": "put put",
    "read": "read read",
    "ride": "rode ridden",
    "rise": "rose risen",
    "ring": "rang rung",
    "run": "ran run",
    "say": "said said",
    "see": "saw seen",
    "sell": "sold sold",
    "send": "sent sent",
    "sing": "sang sung",
    "sit": "sat sat",
    "sleep": "slept slept",
    "speak": "spoke spoken",
    "spend": "spent spent",
    "stand": "stood stood",
    "steal": "stole stolen",
    "swim": "swam swum",
    "take": "took taken",
    "teach": "taught taught",
    "tear": "tore torn",
    "tell": "told told",
    "think": "thought thought",
    "throw": "threw thrown",
    "understand": "understood understood",
    "wake": "woke woken",
    "wear": "wore worn",
    "win": "won won",
    "withdraw": "withdrew withdrawn",
    "write": "wrote written",
}
_DOUBLED = _words(
    "admit chat drop nod get hit jog let plan put run shop sit stop swim skip cut begin forget win"
)
_BE = {
    "pres": "am/is/are",
    "past": "was/was/were",
    "neg": "am not/isn't/aren't",
    "pastneg": "wasn't/wasn't/weren't",
}
_THIRD = {"have": "has", "do": "does", "go": "goes"}
_PLURALS = {
    "child": "children",
    "fish": "fish",
    "foot": "feet",
    "grandchild": "grandchildren",
    "knife": "knives",
    "leaf": "leaves",
    "man": "men",
    "mouse": "mice",
    "person": "people",
    "scarf": "scarves",
    "sheep": "sheep",
    "bookshelf": "bookshelves",
    "shelf": "shelves",
    "series": "series",
    "thesis": "theses",
    "tooth": "teeth",
    "wife": "wives",
    "woman": "women",
    "yuan": "yuan",
}
_COMPARATIVES = {
    "bad": "worse worst",
    "far": "farther farthest",
    "good": "better best",
    "well": "better best",
}
_ER = _words(
    "big small tall short long high low old new young hot cold warm cool fast slow easy "
    "heavy light cheap busy happy clean dirty pretty ugly early late dark bright strong "
    "weak thick thin fat sweet sour hard soft healthy hungry funny friendly deep wide "
    "narrow rich poor safe lively fresh quiet clever smart noisy simple near close large "
    "nice brave cute lazy salty spicy shy dry wet kind fine pale comfy fair round tight "
    "loose tasty silly naughty "
    "clear sturdy lovely thirsty sleepy angry sad calm gentle clumsy lonely stingy tidy great"
)
_AN = re.compile(r"(?!uni|use|usu|eu|one\b|once)[aeiou]|hour|honest", re.IGNORECASE)
_DOUBLE_ENDING = re.compile(r"[^aeiou][aeiou][bdgmnpt]$")
_UNITS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_TENS = _words("_ _ twenty thirty forty fifty sixty seventy eighty ninety")


def _s_form(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return word[:-1] + "ies"
    return word + "s"


@cache
def plural(noun: str) -> str:
    """Return the plural of a noun phrase, whose head is its last word before ``of``."""
    head, of, rest = noun.partition(" of ")
    before, space, last = head.rpartition(" ")
    if last in _PLURALS:
        last = _PLURALS[last]
    elif last.endswith("man") and last not in ("human", "German"):
        last = last[:-3] + "men"
    elif last in ("tomato", "potato", "hero"):
        last += "es"
    else:
        last = _s_form(last)
    return before + space + last + of + rest


def article(phrase: str) -> str:
    """Prefix ``a`` or ``an`` to a noun phrase."""
    return ("an " if _AN.match(phrase) else "a ") + phrase


@cache
def verb(phrase: str, form: str, person: str) -> str:
    """Inflect the first word of a verb phrase.

    ``form`` is base, pres, past, pp, ing, neg or pastneg; ``person`` is 1s, 2, 3s or p.
    """
    head, space, rest = phrase.partition(" ")
    return _inflect(head, form, person) + space + rest


def _inflect(head: str, form: str, person: str) -> str:
    if head == "be" and form in _BE:
        first, third, many = _BE[form].split("/")
        return {"1s": first, "3s": third}.get(person, many)
    if form == "pres" and person == "3s":
        return _THIRD.get(head) or _s_form(head)
    if form == "neg":
        return _inflect(head, "pres", person) + "n't"
    if form in ("past", "pp"):
        irregular = _IRREGULAR.get(head, "").split()
        return irregular[form == "pp"] if irregular else _suffix(head, "ed")
    return _suffix(head, "ing") if form == "ing" else head


def _suffix(head: str, ending: str) -> str:
    if ending == "ing" and head in ("be", "see"):
        return head + "ing"
    if ending == "ing" and head == "lie":
        return "lying"
    if head in _DOUBLED:
        return head + head[-1] + ending
    if head.endswith("e"):
        return head[:-1] + ending if not head.endswith("ee") else head + ending.lstrip("e")
    if ending == "ed" and head.endswith("y") and head[-2] not in "aeiou":
        return head[:-1] + "ied"
    return head + ending


@cache
def compare(adjective: str, form: str) -> str:
    """Return the comparative (``er``) or superlative (``est``) of an adjective."""
    if adjective in _COMPARATIVES:
        return _COMPARATIVES[adjective].split()[form == "est"]
    if adjective not in _ER:
        return ("more " if form == "er" else "most ") + adjective
    if adjective.endswith("e"):
        return adjective[:-1] + form
    if adjective.endswith("y") and adjective not in ("shy", "dry"):
        return adjective[:-1] + "i" + form
    double = len(adjective) <= 4 and _DOUBLE_ENDING.search(adjective) is not None
    return adjective + (adjective[-1] if double else "") + form


def number(value: int) -> str:
    """Spell a number in words, as far as ninety-nine million."""
    if value < 20:
        return _UNITS[value]
    if value < 100:
        tens, unit = divmod(value, 10)
        return _TENS[tens] + (f"-{_UNITS[unit]}" if unit else "")
    for size, name in ((1_000_000, "million"), (1_000, "thousand"), (100, "hundred")):
        if value >= size:
            high, low = divmod(value, size)
            joint = " and " if low and low < 100 else " "
            return f"{number(high)} {name}" + (joint + number(low) if low else "")
    raise AssertionError(value)


def sentence(text: str) -> str:
    """Capitalise the first letter of every sentence in the text, and single its spaces."""
    return re.sub(
        r"(^|[.?!] )([a-z])",
        lambda found: found.group(1) + found.group(2).upper(),
        " ".join(text.split()),
    )
