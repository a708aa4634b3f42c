"""Options that several commands have, and the translator that they ask for."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from hanyi.errors import ParamsError
from hanyi.params import PARAMS_FILE, load_section

if TYPE_CHECKING:
    from hanyi.translator import Translator

ModelOption = Annotated[Path, typer.Option("--model", help="Directory of the trained model.")]
TokenizersOption = Annotated[Path, typer.Option("--tokenizers", help="Directory of tokenizers.")]
DeviceOption = Annotated[
    Optional[str],  # noqa: UP045  typer reads annotations at run time
    typer.Option("--device", help="cpu, cuda or cuda:N; picked by itself unless given."),
]
BeamOption = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--beam-size", help="Beams; 1 is greedy. As in params.yaml unless given."),
]
MODEL = Path("models/transformer")
TOKENIZERS = Path("models/tokenizers")


def load_translator(
    model: Path, tokenizers: Path, device: str | None, beam_size: int | None
) -> Translator:
    """Open a translator by params.yaml, where there is one."""
    from hanyi.corpus.cleaning.config import PrepareConfig
    from hanyi.decoding.config import DecodeConfig
    from hanyi.translator import OUTSIDE, REPAIRS, Translator

    inside = PARAMS_FILE.exists()
    rules = load_section("prepare", PrepareConfig).rules if inside else REPAIRS
    config = load_section("decode", DecodeConfig) if inside else OUTSIDE
    beams = config.beam_size if beam_size is None else beam_size
    needed = config.method == "sample" or config.choose != "likeliest"
    n_best = config.n_best if needed else 1
    try:
        config = dataclasses.replace(config, n_best=n_best, beam_size=beams)
    except ValueError as error:
        raise ParamsError("--beam-size", str(error), "a number of beams", "give one") from None
    return Translator.load(model, tokenizers, device, rules, config)
