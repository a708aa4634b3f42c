"""A trained model in plain use: sentences in, sentences out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import torch
from torch import Tensor

from hanyi.corpus.cleaning.config import repairer
from hanyi.corpus.cleaning.repairs import Spaces, Unicode
from hanyi.corpus.cleaning.rules import Rule
from hanyi.decoding.config import PLAIN, DecodeConfig, SearchConfig
from hanyi.decoding.engine import TorchEngine
from hanyi.decoding.jobs import Job
from hanyi.decoding.loading import Loaded, load_engine
from hanyi.decoding.registry import choose_engine
from hanyi.errors import DataError
from hanyi.model.devices import pick_device, prepare_torch
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.vocab import BOS, EOS

log = logging.getLogger("hanyi.translator")

TOLD = 20  # characters of a text that a warning is about

REPAIRS: tuple[Rule, ...] = (Unicode(rule="unicode", form="NFC"), Spaces(rule="spaces"))
"""What is done to an input outside a project."""

OUTSIDE = DecodeConfig(
    **{field.name: getattr(PLAIN, field.name) for field in fields(PLAIN)},
    engine="torch",
    quantization="none",
    ensemble=[],
    prefix="",
    terms={},
    token_log_probs=False,
    alignment=False,
    batch_tokens=4000,
)
"""How to translate outside a project."""


@dataclass(frozen=True, slots=True)
class Attention:
    """Where a model looked in the source while it wrote each token of its translation."""

    weights: Tensor  # [layers, heads, tgt_len, src_len], each row sums to 1
    src_ids: list[int]  # [src_len], EOS last
    tgt_ids: list[int]  # [tgt_len], EOS last; row i belongs to the writing of token i


class Translator:
    """A model with its tokenizers."""

    def __init__(self, loaded: Loaded, config: DecodeConfig, normal: Callable[[str], str]) -> None:
        self.engine = loaded.engine
        self.name = loaded.name  # of the engine
        self.model = loaded.first
        self.config = config
        self.normal = normal

    @classmethod
    def load(
        cls,
        model: Path,
        tokenizers: Path,
        device: str | None = None,
        rules: Sequence[Rule] = REPAIRS,
        config: DecodeConfig = OUTSIDE,
    ) -> Translator:
        """Read `models/transformer` and `models/tokenizers`, or what you call them.

        `device` is as in `pick_device`; `rules` are prepare.rules of the training, whose repairs an
        input goes through as the sources of train did; `config` is the `decode` section. Raises
        `ArtifactError` when files are missing, broken or do not belong together.
        """
        prepare_torch()
        loaded = load_engine(model, tokenizers, config, pick_device(device))
        return cls(loaded, config, repairer(tuple(rules)))

    @property
    def src(self) -> Tokenizer:
        """Give the tokenizer of the sources."""
        return self.engine.src

    @property
    def tgt(self) -> Tokenizer:
        """Give the tokenizer of the translations."""
        return self.engine.tgt

    @property
    def max_tokens(self) -> int:
        """Give the most tokens of a sentence in training."""
        return self.engine.max_tokens

    def translate(self, texts: Sequence[str], search: SearchConfig | None = None) -> list[str]:
        """Translate each text, as the `decode` section says unless another search is given.

        An empty text stays empty. A text longer than the model has seen is cut at sentence ends
        (else at commas, spaces or anywhere), its parts are translated and joined, and a warning
        says so; one more tells of a translation that lacks a term or was cut at its limit. Raises
        `ParamsError` for a search that the engine cannot do.
        """
        sources = self.engine.read([self.normal(text) for text in texts])
        for source in sources:
            if len(source.parts) > 1:
                told = (
                    f"more than {self.max_tokens} tokens, translated in {len(source.parts)} parts"
                )
                log.warning("%s...: %s", source.text[:TOLD], told)
        rows = self.engine.translate(sources, self._asked(search))
        for source, row in zip(sources, rows, strict=True):
            if row.unmet:
                log.warning(
                    "%s...: translated without %s", source.text[:TOLD], ", ".join(row.unmet)
                )
            if not row.best.finished:
                log.warning("%s...: its translation is cut at the limit", source.text[:TOLD])
        return [row.best.text for row in rows]

    def attention(self, text: str, search: SearchConfig | None = None) -> Attention:
        """Translate a text, and give the cross-attention of the translation over the source."""
        src_ids = self.src.encode(self.normal(text))
        if not 1 <= len(src_ids) <= self.max_tokens:
            raise DataError(
                "text", f"{len(src_ids)} tokens", f"1 to {self.max_tokens}", "give one sentence"
            )
        engine = TorchEngine(self.model, self.config.batch_tokens)
        best = engine.translate([Job(src_ids)], search or self.config)[0][0]
        device = next(self.model.parameters()).device
        src = torch.tensor([[*src_ids, EOS]], device=device)
        tgt_in = torch.tensor([[BOS, *best.tokens]], device=device)
        weights = self.model.attention_maps(src, tgt_in)["cross"][0].cpu()
        return Attention(weights, [*src_ids, EOS], [*best.tokens, EOS])

    def _asked(self, search: SearchConfig | None) -> SearchConfig:
        if search is None:
            return self.config
        options = {field.name: getattr(search, field.name) for field in fields(PLAIN)}
        choose_engine(replace(self.config, **options, engine=self.name))
        return search
