"""From folders to an engine for texts: the model, those that join it, and their tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch

from hanyi.decoding.config import DecodeConfig
from hanyi.decoding.ensemble import Ensemble, load_ensemble
from hanyi.decoding.registry import choose_engine, open_engine
from hanyi.decoding.texts import TextEngine
from hanyi.decoding.wishes import Wishes
from hanyi.model.processes import ALONE, Processes
from hanyi.model.storage import ModelFile, load_model
from hanyi.model.transformer import Transformer
from hanyi.tokens.bpe import Tokenizer


@dataclass(frozen=True, slots=True)
class Loaded:
    """An engine, and what it was made of."""

    engine: TextEngine
    name: str  # of the engine
    model: Transformer | Ensemble  # all that it consists of
    first: Transformer
    described: Sequence[ModelFile]  # of all models


def load_engine(
    model: Path,
    tokenizers: Path,
    config: DecodeConfig,
    device: torch.device,
    processes: Processes = ALONE,
) -> Loaded:
    """Read a model, those of `config.ensemble` and the tokenizers, and open the engine for them.

    Raises `ArtifactError` when files are missing, broken or do not belong together, and
    `ParamsError` when the engine lacks an option.
    """
    name = choose_engine(config, device)
    src = Tokenizer.load(tokenizers / "src.json")
    tgt = Tokenizer.load(tokenizers / "tgt.json")
    wishes = Wishes(config.prefix, config.terms, tgt)
    loaded, described = _load([model, *map(Path, config.ensemble)], device)
    described[0].require_tokenizers(model, src.digest, tgt.digest)
    most = min(one.max_tokens for one in described)
    engine = TextEngine(open_engine(loaded, config, processes), src, tgt, most, wishes)
    first = cast("Transformer", loaded.models[0]) if isinstance(loaded, Ensemble) else loaded
    return Loaded(engine, name, loaded, first, described)


def _load(
    folders: Sequence[Path], device: torch.device
) -> tuple[Transformer | Ensemble, Sequence[ModelFile]]:
    if len(folders) > 1:
        return load_ensemble(folders, device)
    model, described = load_model(folders[0], device)
    return model, [described]
