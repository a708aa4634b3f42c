"""What a search must know of each sentence: its bounds, and what its translation must hold."""

from __future__ import annotations

from dataclasses import dataclass, field

from hanyi.tokens.vocab import BOS, EOS, PAD

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wish:
    """What a translation must hold; nothing by default."""

    prefix: Tokens = ()  # it begins with these
    terms: tuple[tuple[Tokens, ...], ...] = ()  # of each term, one of these runs stands in it

    def __post_init__(self) -> None:
        """Refuse what no translation can hold: that is a bug of the caller."""
        runs = [self.prefix, *(run for term in self.terms for run in term)]
        if any({PAD, BOS, EOS} & set(run) for run in runs):
            raise ValueError("a prefix or a term holds a special token")
        if not all(term and all(term) for term in self.terms):
            raise ValueError("a term is empty")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a batch to search."""

    src_len: int  # tokens of the source, EOS counted
    limit: int  # tokens of a hypothesis, EOS counted, at most; 1 or more
    least: int = 0  # tokens of a finished hypothesis, EOS not counted, at least
    wish: Wish = field(default_factory=Wish)
    number: int = 0  # of its row among all; what is drawn for it depends on this
