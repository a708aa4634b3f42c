"""What is true of a model whatever it translates, as data that JSON can hold."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hanyi.model.positions import ADDED

if TYPE_CHECKING:
    from hanyi.translator import Translator

POSITIONS = 64
"""Positions whose encodings are told."""


def describe(translator: Translator) -> dict[str, Any]:
    """Give sizes, languages and limits, and the encodings of the first positions in each layout.

    Encodings are `[positions, d_model]`, as the model's own code computes them, in hundredths.
    """
    model, languages = translator.model, translator.languages
    config = model.config
    return {
        "languages": asdict(languages) if languages else None,
        "engine": translator.name,
        "max_tokens": translator.max_tokens,
        "parameters": sum(one.numel() for one in model.parameters()),
        "config": asdict(config),
        "src_vocab": model.src_vocab,
        "tgt_vocab": model.tgt_vocab,
        "beam_size": translator.config.beam_size,
        "beam_groups": translator.config.beam_groups,
        "positions": {
            name: encoding(config.d_model)(0, POSITIONS).double().mul(100).round().int().tolist()
            for name, encoding in ADDED.items()
        },
    }
