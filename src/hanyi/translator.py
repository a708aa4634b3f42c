"""A trained model in plain use: sentences in, sentences out."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from hanyi.corpus.cleaning.config import repairer
from hanyi.corpus.cleaning.repairs import Spaces, Unicode
from hanyi.corpus.cleaning.rules import Rule
from hanyi.decoding.config import PLAIN, SearchConfig
from hanyi.decoding.engine import translate_ids
from hanyi.errors import DataError
from hanyi.model.devices import pick_device, prepare_torch
from hanyi.model.storage import ModelFile, load_model
from hanyi.model.transformer import Transformer
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.vocab import BOS, EOS

log = logging.getLogger("hanyi.translator")

REPAIRS: tuple[Rule, ...] = (Unicode(rule="unicode", form="NFC"), Spaces(rule="spaces"))
"""What is done to an input outside a project."""

BATCH_TOKENS = 4000

# Where an over-long text may be cut, the best places first: after a sentence and the quote or
# bracket that closes it, after a clause, after a space.
MARKS, CLOSERS = "。！？；.!?;", "”’」』）)\"'"
BREAKS = (
    re.compile(rf"(?<=[{MARKS}][{CLOSERS}])|(?<=[{MARKS}])(?![\d{CLOSERS}])"),
    re.compile(r"(?<=[，、：,:])(?!\d)"),
    re.compile(r"(?<=\s)"),
)


@dataclass(frozen=True, slots=True)
class Attention:
    """Where a model looked in the source while it wrote each token of its translation."""

    weights: Tensor  # [layers, heads, tgt_len, src_len], each row sums to 1
    src_ids: list[int]  # [src_len], EOS last
    tgt_ids: list[int]  # [tgt_len], EOS last; row i belongs to the writing of token i


class Translator:
    """A model with its tokenizers."""

    def __init__(
        self,
        model: Transformer,
        described: ModelFile,
        src: Tokenizer,
        tgt: Tokenizer,
        normal: Callable[[str], str],
    ) -> None:
        self.model = model
        self.max_tokens = described.max_tokens
        self.src = src
        self.tgt = tgt
        self.normal = normal

    @classmethod
    def load(
        cls,
        model: Path,
        tokenizers: Path,
        device: str | None = None,
        rules: Sequence[Rule] = REPAIRS,
    ) -> Translator:
        """Read `models/transformer` and `models/tokenizers`, or what you call them.

        `device` is as in `pick_device`; `rules` are prepare.rules of the training, whose repairs an
        input goes through as the sources of train did. Raises `ArtifactError` when files are
        missing, broken or do not belong together.
        """
        prepare_torch()
        src = Tokenizer.load(tokenizers / "src.json")
        tgt = Tokenizer.load(tokenizers / "tgt.json")
        loaded, described = load_model(model, pick_device(device))
        described.require_tokenizers(model, src.digest, tgt.digest)
        return cls(loaded, described, src, tgt, repairer(tuple(rules)))

    def translate(self, texts: Sequence[str], search: SearchConfig = PLAIN) -> list[str]:
        """Translate each text; an empty one stays empty.

        A text longer than the model has seen is cut at sentence ends (else at commas, spaces or
        anywhere), its parts are translated and joined, and a warning says so.
        """
        parts = [self._parts(text) for text in texts]
        sources = self.src.encode_batch([part for split in parts for part in split])
        found = translate_ids(self.model, sources, search, tokens=BATCH_TOKENS)
        translated = iter(self.tgt.decode_batch([best[0].tokens for best in found]))
        return [_join([next(translated) for _ in split]) for split in parts]

    def attention(self, text: str, search: SearchConfig = PLAIN) -> Attention:
        """Translate a text, and give the cross-attention of the translation over the source."""
        src_ids = self.src.encode(self.normal(text))
        if not 1 <= len(src_ids) <= self.max_tokens:
            raise DataError(
                "text", f"{len(src_ids)} tokens", f"1 to {self.max_tokens}", "give one sentence"
            )
        best = translate_ids(self.model, [src_ids], search, tokens=BATCH_TOKENS)[0][0]
        device = next(self.model.parameters()).device
        src = torch.tensor([[*src_ids, EOS]], device=device)
        tgt_in = torch.tensor([[BOS, *best.tokens]], device=device)
        weights = self.model.attention_maps(src, tgt_in)["cross"][0].cpu()
        return Attention(weights, [*src_ids, EOS], [*best.tokens, EOS])

    def _parts(self, text: str) -> list[str]:
        text = self.normal(text)
        parts = split_long(text, lambda part: len(self.src.encode(part)), self.max_tokens)
        if len(parts) > 1:
            log.warning(
                "%s...: more than %d tokens, translated in %d parts",
                text[:20],
                self.max_tokens,
                len(parts),
            )
        return parts


def split_long(text: str, length: Callable[[str], int], most: int, level: int = 0) -> list[str]:
    """Cut a text into as few parts of at most `most` as its breaks allow; nothing is lost."""
    if length(text) <= most or len(text) == 1:
        return [text]
    if level == len(BREAKS):
        middle = len(text) // 2
        halves = text[:middle], text[middle:]
        return [part for half in halves for part in split_long(half, length, most, level)]
    parts: list[str] = []
    for piece in BREAKS[level].split(text):
        if parts and length(parts[-1] + piece) <= most:
            parts[-1] += piece
        else:
            parts += split_long(piece, length, most, level + 1) if piece else []
    return parts


def _join(parts: Sequence[str]) -> str:
    joined = ""
    for part in parts:
        # Wide scripts put no space between sentences.
        wide = bool(joined) and unicodedata.east_asian_width(joined[-1]) in "WF"
        joined += part if wide or not joined or not part else f" {part}"
    return joined
