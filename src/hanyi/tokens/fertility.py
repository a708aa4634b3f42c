"""What a tokenizer makes of a corpus: tokens for each character and word, and the round trip."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hanyi.errors import ArtifactError
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.prepared import read_sample


@dataclass
class Fertility:
    """Counts over sentences; words are what white space parts."""

    sentences: int = 0
    exact: int = 0
    chars: int = 0
    words: int = 0
    tokens: int = 0

    def metrics(self) -> dict[str, Any]:
        """Give the counts and their ratios; 0 where there is nothing to divide by."""
        return {
            "sentences": self.sentences,
            "chars": self.chars,
            "words": self.words,
            "tokens": self.tokens,
            "tokens_per_char": self.tokens / max(self.chars, 1),
            "tokens_per_word": self.tokens / max(self.words, 1),
            "round_trip": self.exact / max(self.sentences, 1),
        }


def measure(tokenizer: Tokenizer, files: Iterable[Path], column: str, chars: int) -> Fertility:
    """Encode and decode a column, about `chars` characters of each file, and count.

    Raises `ArtifactError` that names the first row whose text does not come back exactly.
    """
    total = Fertility()
    for path in files:
        for block in read_sample(path, ["id", column], chars):
            texts = block.column(1).to_pylist()
            encoded = tokenizer.encode_batch(texts)
            decoded = tokenizer.decode_batch(encoded)
            total.sentences += len(texts)
            total.exact += sum(map(str.__eq__, texts, decoded))
            total.chars += sum(map(len, texts))
            total.words += sum(len(text.split()) for text in texts)
            total.tokens += sum(map(len, encoded))
            if total.exact < total.sentences:
                at = [text == back for text, back in zip(texts, decoded, strict=True)].index(False)
                raise ArtifactError(
                    f"{path}: row {block.column(0)[at]}: {column}",
                    f"{decoded[at]!r} back from the tokenizer",
                    repr(texts[at]),
                    "report it: byte-level BPE loses nothing",
                )
    return total
