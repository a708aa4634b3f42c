"""The config of each section of params.yaml, for what looks at all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hanyi.corpus.cleaning.config import PrepareConfig
from hanyi.corpus.sources import FetchConfig
from hanyi.decoding.config import DecodeConfig
from hanyi.errors import HanyiError, ParamsError
from hanyi.gate.config import CheckConfig
from hanyi.languages import Languages
from hanyi.model.config import ModelConfig
from hanyi.params import SECTIONS, parse
from hanyi.scoring.config import ScoreConfig
from hanyi.tokens.config import TokenizersConfig
from hanyi.tokens.encoding import EncodeConfig
from hanyi.training.config import TrainConfig

KINDS: dict[str, type] = {
    "languages": Languages,
    "fetch": FetchConfig,
    "prepare": PrepareConfig,
    "tokenizers": TokenizersConfig,
    "encode": EncodeConfig,
    "model": ModelConfig,
    "train": TrainConfig,
    "decode": DecodeConfig,
    "score": ScoreConfig,
    "check": CheckConfig,
}


def faults(params: Mapping[str, Any]) -> list[HanyiError]:
    """Give what is wrong with whole parameters, an error for each section."""
    unknown = [
        ParamsError(name, "unknown section", ", ".join(SECTIONS), "rename or remove it")
        for name in params
        if name not in SECTIONS
    ]
    found = (_fault(section, kind, params.get(section)) for section, kind in KINDS.items())
    return [*unknown, *filter(None, found)]


def _fault(section: str, kind: type, values: object) -> HanyiError | None:
    try:
        parse(section, kind, values)
    except HanyiError as error:
        return error
    return None
