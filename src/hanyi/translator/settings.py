"""How a model is used: its languages, the repairs of its sources, its `decode` section."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

from hanyi.corpus.cleaning.config import PrepareConfig
from hanyi.corpus.cleaning.repairs import Spaces, Unicode
from hanyi.corpus.cleaning.rules import Rule
from hanyi.decoding.config import PLAIN, DecodeConfig
from hanyi.languages import Languages
from hanyi.params import load_section

REPAIRS: tuple[Rule, ...] = (Unicode(rule="unicode", form="NFC"), Spaces(rule="spaces"))
"""What is done to an input where no params.yaml tells."""

OUTSIDE = DecodeConfig(
    **{field.name: getattr(PLAIN, field.name) for field in fields(PLAIN)},
    engine="auto",
    quantization="none",
    ensemble=[],
    prefix="",
    terms={},
    token_log_probs=False,
    alignment=False,
    batch_tokens=4000,
)
"""How to translate where no params.yaml tells."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a params.yaml says of the use of its model."""

    rules: tuple[Rule, ...]  # of prepare; inputs go through the repairs among them
    config: DecodeConfig
    languages: Languages | None  # None: not known


def read_settings(params: Path | None) -> Settings:
    """Read the sections; without a file, use what is good for most models."""
    if params is None:
        return Settings(REPAIRS, OUTSIDE, None)
    return Settings(
        load_section("prepare", PrepareConfig, params).rules,
        load_section("decode", DecodeConfig, params),
        load_section("languages", Languages, params),
    )


def best_only(config: DecodeConfig) -> DecodeConfig:
    """Ask for one translation of each text; for more only where the choice is made among them."""
    among = config.method == "sample" or config.choose != "likeliest"
    return config if among else replace(config, n_best=1)
