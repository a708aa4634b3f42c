"""The `tokenizers` section: the vocabularies of both sides."""

from __future__ import annotations

from hanyi.params import at_least, config
from hanyi.tokens.bpe import BpeConfig, check_digits, check_vocab, check_word_chars


@config
class TokenizersConfig:
    """The `tokenizers` section."""

    use: str | None
    joint: bool
    src_vocab: int
    tgt_vocab: int
    max_word_chars: int
    max_digits: int
    sample_chars: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_vocab("src_vocab", self.src_vocab)
        check_vocab("tgt_vocab", self.tgt_vocab)
        if self.joint and self.src_vocab != self.tgt_vocab:
            raise ValueError(
                "joint is one vocabulary, so src_vocab and tgt_vocab must be equal, "
                f"got {self.src_vocab} and {self.tgt_vocab}"
            )
        check_word_chars(self.max_word_chars)
        check_digits(self.max_digits)
        at_least("sample_chars", self.sample_chars, 1)

    def bpe(self, side: str) -> BpeConfig:
        """Give the settings of one side."""
        return BpeConfig(
            vocab=self.src_vocab if side == "src" else self.tgt_vocab,
            max_word_chars=self.max_word_chars,
            max_digits=self.max_digits,
        )
