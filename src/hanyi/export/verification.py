"""Does an export compute what the model computes? Measured, not believed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import torch

from hanyi.artifacts import write_header
from hanyi.corpus.samples import splitmix64
from hanyi.decoding import ctranslate_options
from hanyi.decoding.config import PLAIN, DecodeConfig
from hanyi.decoding.ctranslate import CTranslate
from hanyi.decoding.engine import TorchEngine
from hanyi.decoding.jobs import Engine
from hanyi.decoding.texts import TextEngine
from hanyi.decoding.wishes import Wishes
from hanyi.errors import ArtifactError
from hanyi.export.ctranslate2 import vocabularies
from hanyi.metrics.lexical import measure
from hanyi.metrics.tokenizers import bleu_tokenizer
from hanyi.tokens.prepared import read_blocks
from hanyi.tokens.vocab import BOS, EOS, PAD, SPECIALS
from hanyi.translator import Translator

HEADER = ("hanyi.verification", 1)
FILE = "verification.json"
SPLIT = Path("data/prepared/test.parquet")
SENTENCES = 16  # of random tokens, for logits
MOST_LOST = 1.0  # points of BLEU or chrF that an export may have less than our own engine
CLOSE = 1e-3  # difference of logits that is rounding; they are of size 10


@dataclass(frozen=True, slots=True)
class Verification:
    """The translations of an export beside those of our own engine in float32."""

    rows: int  # of the test split
    equal: int  # translations that are the same, character for character
    scores: dict[str, tuple[float, float]]  # of each metric: ours, the export's
    signatures: dict[str, str]
    compute_type: str  # in which the export was run here

    def write(self, target: Path) -> None:
        """Leave the figures beside the export."""
        told: dict[str, Any] = {
            "rows": self.rows,
            "equal": self.equal,
            "compute_type": self.compute_type,
            **{
                name: {"ours": ours, "export": export, "signature": self.signatures[name]}
                for name, (ours, export) in self.scores.items()
            },
        }
        write_header(target / FILE, *HEADER, told)

    def require_close(self, target: Path) -> None:
        """Raise `ArtifactError` when the export translates worse than rounding makes it."""
        for name, (ours, export) in self.scores.items():
            if ours - export > MOST_LOST:
                raise ArtifactError(
                    target,
                    f"{name} {export:.2f}",
                    f"at most {MOST_LOST:g} below ours, {ours:.2f}",
                    "use larger --weights, or more --rows to measure it better",
                )


def verify_ctranslate2(
    translator: Translator, target: Path, split: Path, most: int | None = None
) -> Verification:
    """Translate the test split with both; `most` rows drawn from all of it, if given."""
    texts, references = _read(split, most)
    config = _search(translator.config)
    own = TorchEngine(translator.model, config.batch_tokens)
    names = vocabularies(translator.src, translator.tgt)
    ctranslate2.set_log_level(logging.ERROR)  # what it warns of here is the `compute_type` below
    exported = CTranslate(translator.model, target, "default", config.batch_tokens, names)
    ours, theirs = (_translate(translator, one, texts, config) for one in (own, exported))
    tokenize = bleu_tokenizer("auto", translator.languages.tgt if translator.languages else "en")
    measured = [measure(found, references, tokenize) for found in (ours, theirs)]
    return Verification(
        rows=len(texts),
        equal=sum(one == other for one, other in zip(ours, theirs, strict=True)),
        scores={name: (measured[0][name].score(), measured[1][name].score()) for name in METRICS},
        signatures={name: measured[0][name].signature for name in METRICS},
        compute_type=str(exported.translator.compute_type),
    )


METRICS = ("bleu", "chrf")


@torch.no_grad()
def verify_marian(translator: Translator, target: Path) -> float:
    """Give the largest difference of a logit from `MarianMTModel`'s, on random sentences.

    Raises `ArtifactError` when it is more than rounding, and `ImportError` without transformers.
    """
    from transformers import MarianMTModel, utils

    bars: Any = utils.logging
    bars.disable_progress_bar()  # of a second
    model = translator.model
    other: Any = MarianMTModel.from_pretrained(target, dtype=torch.float32)
    other.eval()
    draw = torch.Generator().manual_seed(1)
    src = _random(draw, model.src_vocab, translator.max_tokens)
    tgt = _random(draw, model.tgt_vocab, translator.max_tokens)
    tgt[:, 0] = BOS
    ours = model(src, tgt)
    theirs = other(input_ids=src, attention_mask=(src != PAD).long(), decoder_input_ids=tgt).logits
    apart = float((ours - theirs)[tgt != PAD].abs().max())
    if not apart <= CLOSE:
        raise ArtifactError(
            target,
            f"logits that differ by {apart:.2g}",
            f"at most {CLOSE:g}",
            "use another version of transformers, and report this",
        )
    return apart


def _random(draw: torch.Generator, vocab: int, most: int) -> torch.Tensor:
    """Draw sentences of random lengths that end with EOS, `[batch, length]`."""
    tokens = torch.randint(len(SPECIALS), vocab, (SENTENCES, most + 1), generator=draw)
    ends = torch.randint(1, most + 1, (SENTENCES,), generator=draw)
    places = torch.arange(most + 1)
    tokens[places > ends[:, None]] = PAD
    tokens[torch.arange(SENTENCES), ends] = EOS
    return tokens


def _read(split: Path, most: int | None) -> tuple[list[str], list[str]]:
    rows: list[tuple[int, str, str]] = []
    for block in read_blocks(split, ["id", "src", "tgt"]):
        rows += zip(*(column.to_pylist() for column in block.columns), strict=True)
    if most is not None:  # rows of every corpus, not the first ones
        order = splitmix64(np.array([number for number, _, _ in rows])).argsort(kind="stable")
        rows = [rows[place] for place in order[:most]]
    rows.sort()
    return [src for _, src, _ in rows], [tgt for _, _, tgt in rows]


def _search(config: DecodeConfig) -> DecodeConfig:
    """Give the search of the `decode` section, or a plain one where CTranslate2 has not all."""
    if ctranslate_options.lacks(config) is None:
        return config
    plain = {field.name: getattr(PLAIN, field.name) for field in fields(PLAIN)}
    return replace(config, **plain)


def _translate(
    translator: Translator, engine: Engine, texts: Sequence[str], config: DecodeConfig
) -> list[str]:
    src, tgt = translator.src, translator.tgt
    whole = TextEngine(engine, src, tgt, translator.max_tokens, Wishes("", {}, tgt))
    return [row.best.text for row in whole.translate(whole.read(texts), config)]
