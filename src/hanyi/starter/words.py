"""The lexicon: what a word is, and how its entries are read from YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hanyi.errors import HanyiError

_OWNERS = {
    "我": {"mine"},
    "你": {"yours"},
    "他": {"theirs", "of_he"},
    "她": {"theirs", "of_she"},
}
_UNFIT = {"male": ("she",), "female": ("he",), "pupil": ("elder", "spouse", "titled")}


class GrammarError(HanyiError):
    """A fault in the grammar's data, or a demand that it cannot meet."""


def fault(where: str, found: str, expected: str) -> GrammarError:
    """Describe a fault in the YAML files."""
    return GrammarError(where, found, expected, "mend the grammar's YAML files")


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """One lexicon entry, or a phrase built from several.

    ``extra`` is the second field of the entry: a noun's measure word, the labels of the objects
    a verb takes or of the nouns an adjective fits, a person's grammatical person. ``counted`` is
    how a mass noun is counted (*cup of tea*), or how an activity is told in general (*fly
    kites*). ``hosts`` says what a place is for, or what is spoken in a country. ``parts`` are
    the lexicon words inside.
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


def read_words(kind: str, content: Mapping[str, Mapping[str, str]]) -> Iterator[Word]:
    """Read one lexicon file: blocks headed by labels, with one entry a line."""
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
                raise fault(f"lexicon entry {zh}", "no measure word", "one")
            yield word


def composites(words: list[Word]) -> Iterator[Word]:
    """Build 我妈妈 (owner and relative), 王老师 (surname and title), and 司机 as *the driver*."""
    owners = [word for word in words if "owner" in word.labels]
    surnames = [word for word in words if word.kind == "surnames"]
    for word in words:
        if word.kind == "relatives":
            yield from (
                _owned(owner, word) for owner in owners if f"not_{owner.zh}" not in word.labels
            )
        elif word.kind == "titles":
            yield from (_titled(name, word) for name in surnames)
        elif word.kind == "nouns" and "role" in word.labels:
            labels = frozenset(("rolled", "people", "single"))
            yield Word(word.zh, f"the {word.en}", "people", "3s", labels, parts=(word.zh,))


def _owned(owner: Word, word: Word) -> Word:
    labels = word.labels - {"relatives", word.zh} | {"kin", "single"} | _OWNERS[owner.zh]
    english = f"{owner.en.split('/')[2]} {word.en}"
    return Word(owner.zh + word.zh, english, "people", "3s", labels, parts=(word.zh,))


def _titled(name: Word, word: Word) -> Word:
    labels = word.labels - {word.zh} | {"titled", "single"}
    english = f"{word.en} {name.en}"
    return Word(name.zh + word.zh, english, "people", "3s", labels, parts=(word.zh, name.zh))


def clash(chosen: Mapping[str, Word]) -> bool:
    """Tell whether the words do not go together.

    Two adjectives must not judge the same thing (cheap and expensive), a grandfather does not go
    to school, and 他妈妈 beside another person needs that person to be the 他.
    """
    axes = [label for word in chosen.values() for label in word.labels if label[0] == "@"]
    if len(axes) > len(set(axes)):
        return True
    people = [word for word in chosen.values() if word.kind == "people"]
    if people:
        others = frozenset().union(*(word.labels for word in chosen.values()))
        first = people[0].labels
        for label, unfit in _UNFIT.items():
            if label in others and not first.isdisjoint(unfit):
                return True
    return any(
        f"of_{gender}" in other.labels and gender not in people[0].labels
        for other in people[1:]
        for gender in ("he", "she")
    )
