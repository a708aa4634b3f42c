"""All rules that `prepare.rules` may list, each under the name that it is counted by."""

from __future__ import annotations

from typing import Annotated, TypeAlias, get_args, get_type_hints

from pydantic import Field

from hanyi.corpus.cleaning.chinese import Han, HanTag, MixedHan, Unsegment
from hanyi.corpus.cleaning.junk import Fragments, Identical, Repeats, Undecoded, Url
from hanyi.corpus.cleaning.lengths import Chars, Empty, Ratio, Words
from hanyi.corpus.cleaning.markup import Entities, Markup, Tags
from hanyi.corpus.cleaning.numbers import Numbers
from hanyi.corpus.cleaning.repairs import Invisible, Spaces, Unicode
from hanyi.corpus.cleaning.scripts import Script, Swapped

Repair: TypeAlias = Unicode | Entities | Tags | Invisible | Spaces | Unsegment | Han | HanTag
Filter: TypeAlias = (
    Empty
    | Identical
    | Undecoded
    | Markup
    | Url
    | Chars
    | Words
    | Ratio
    | Script
    | Swapped
    | Numbers
    | Repeats
    | MixedHan
    | Fragments
)
Rule = Annotated[Repair | Filter, Field(discriminator="rule")]


def _names(kinds: tuple[type[Repair | Filter], ...]) -> dict[str, type[Repair | Filter]]:
    return {get_args(get_type_hints(kind)["rule"])[0]: kind for kind in kinds}


REPAIRS = _names(get_args(Repair))
FILTERS = _names(get_args(Filter))
