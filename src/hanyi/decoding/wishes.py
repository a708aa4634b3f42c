"""What a translation must hold, from text to tokens: how it begins, and terms of the source.

A prefix is cut into tokens as it stands. What it breaks off in can still be completed, since any
text can be spelled in pieces; but a whole word at its end goes on more naturally. White space at
its end is left out: a token of the target brings the space before its word along.

A term is asked for where the source holds it: as it stands, or, beside the signs of a script with
spaces, as a word of its own. Of two that overlap the one that begins earlier counts, or else the
longer. Its translation may begin the sentence or follow a space, and one that is written small may
begin with a capital; all of these spellings are the term's alternatives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hanyi.decoding.sentences import Tokens, Wish
from hanyi.errors import ParamsError
from hanyi.tokens.bpe import Tokenizer

WORDS = r"[^\W\u2e80-\U0003ffff]"
"""Letters and digits of scripts with spaces; those from U+2E80 on are written without."""


class Wishes:
    """The prefix of all translations, and the terms by which each source is looked through."""

    def __init__(self, prefix: str, terms: Mapping[str, str], tgt: Tokenizer) -> None:
        """Cut prefix and terms into tokens; raise `ParamsError` for a term that is empty."""
        if not all(side.strip() for term in terms.items() for side in term):
            raise ParamsError(
                "params.yaml: decode.terms",
                "a term without text",
                "text on both sides of each",
                "fill it in or leave it out",
            )
        self.prefix = tuple(tgt.encode(prefix.rstrip()))
        self.targets = {source: target.strip() for source, target in terms.items()}
        self.spellings = {target: _spellings(target, tgt) for target in self.targets.values()}
        longest_first = sorted(terms, key=lambda term: (-len(term), term))
        self.pattern = re.compile("|".join(map(_as_word, longest_first)))

    def terms(self, source: str) -> list[str]:
        """Give the target terms that the translation of a source must hold, in its order."""
        if not self.targets:
            return []
        found = (self.targets[match[0]] for match in self.pattern.finditer(source))
        return list(dict.fromkeys(found))

    def unused(self, sources: Iterable[str]) -> list[str]:
        """Give the source terms that none of the sources holds, or only inside a longer one."""
        if not self.targets:
            return []
        found = {match[0] for source in sources for match in self.pattern.finditer(source)}
        return [term for term in self.targets if term not in found]

    def wish(self, source: str, *, first: bool) -> Wish:
        """Give what a search must see to; the prefix belongs to the first part of a text."""
        terms = tuple(self.spellings[target] for target in self.terms(source))
        return Wish(self.prefix if first else (), terms)


def holds(text: str, term: str) -> bool:
    """Tell whether a translation holds a term, as a word of its own where words have spaces."""
    return any(re.search(_as_word(one), text) for one in _cases(term))


def _as_word(term: str) -> str:
    before = rf"(?<!{WORDS})" if re.match(WORDS, term[:1]) else ""
    after = rf"(?!{WORDS})" if re.match(WORDS, term[-1:]) else ""
    return f"{before}{re.escape(term)}{after}"


def _cases(term: str) -> list[str]:
    return list(dict.fromkeys([term, term[:1].upper() + term[1:]]))


def _spellings(term: str, tgt: Tokenizer) -> tuple[Tokens, ...]:
    texts = [f"{space}{one}" for one in _cases(term) for space in (" ", "")]
    return tuple(dict.fromkeys(tuple(tgt.encode(text)) for text in texts))
