"""What a training reads: the encoded splits, their tokenizers, and valid as it was prepared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hanyi.artifacts import digest_path
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.prepared import read_blocks
from hanyi.tokens.shards import EncodedSplit
from hanyi.training.segments import Segmenter
from hanyi.training.validation import Text


@dataclass(frozen=True, slots=True)
class Corpus:
    """The splits that are learnt from and validated on."""

    train: EncodedSplit
    valid: EncodedSplit
    src: Tokenizer
    tgt: Tokenizer
    references: Path  # valid as prepared, never rebuilt from ids

    @classmethod
    def open(cls, encoded: Path, tokenizers: Path, prepared: Path) -> Corpus:
        """Open the artifacts; raise `ArtifactError` when they do not belong to each other."""
        src = Tokenizer.load(tokenizers / "src.json")
        tgt = Tokenizer.load(tokenizers / "tgt.json")
        train, valid = (EncodedSplit.open(encoded / name) for name in ("train", "valid"))
        for split in (train, valid):
            split.require_tokenizers(src.digest, tgt.digest)
        return cls(train, valid, src, tgt, prepared / "valid.parquet")

    def segmenter(self, probability: float) -> Segmenter | None:
        """Give what segments sentences anew, None without BPE-dropout."""
        return Segmenter(self.src, self.tgt, probability) if probability else None

    def texts(self) -> dict[int, Text]:
        """Give the sentences of valid by id."""
        blocks = read_blocks(self.references, ["id", "src", "tgt"])
        return {
            number: Text(src, tgt)
            for block in blocks
            for number, src, tgt in zip(
                *(column.to_pylist() for column in block.columns), strict=True
            )
        }

    def digests(self) -> dict[str, object]:
        """Give the digests of all that decides how a training goes."""
        return {
            "encoded": [self.train.digest, self.valid.digest],
            "references": digest_path(self.references),
        }
